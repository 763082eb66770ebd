import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Journal } from '../../src/journal/journal.ts';

/** An engine under test. It is a module of its own, as a child process opens the journal with it, too. */
export type Engine = {
  /** The module that exports it. */
  url: string;
  /** Opens the journal that is kept in a folder. */
  open(folder: string, now?: () => number): Journal;
};

/** A journal in a folder of its own, with a clock that the test moves. */
export class Place implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'spawngate-journal-'));
  readonly #engine: Engine;
  now = 1_800_000_000_000;
  journal: Journal;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.journal = this.#open();
  }

  /** As by a restart of the gateway. */
  reopen(): Journal {
    this.journal.close();
    this.journal = this.#open();
    return this.journal;
  }

  #open(): Journal {
    return this.#engine.open(this.folder, () => this.now);
  }

  [Symbol.dispose](): void {
    this.journal.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
