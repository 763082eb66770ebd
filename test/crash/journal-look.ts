import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Fact } from '../../src/protocol/events.ts';

/** What the journal of a data directory holds, seen from outside. */
export class JournalLook {
  readonly #db: DatabaseSync;

  constructor(dataDir: string) {
    this.#db = new DatabaseSync(join(dataDir, 'journal.db'), { readOnly: true });
  }

  /** As they were sent, in order. */
  facts(tree?: string): Fact[] {
    const rows = this.#db
      .prepare('SELECT seq, head, data, size, large FROM facts WHERE tree = coalesce(?, tree) ORDER BY seq')
      .all(tree ?? null);
    return rows.map(({ seq, head, data, size, large }) =>
      JSON.parse(`{"seq":${seq},${head},${large === 1 ? `"data":null,"size":${size}` : `"data":${data}`}}`),
    );
  }

  /** Types of the facts of the last commit that had any. */
  lastCommit(): string[] {
    const last = 'commit_to = (SELECT max(commit_to) FROM facts)';
    const rows = this.#db.prepare(`SELECT head FROM facts WHERE ${last} ORDER BY seq`).all();
    return rows.map(({ head }) => JSON.parse(`{${head}}`).type);
  }

  runs(agent?: string) {
    const rows = this.#db
      .prepare('SELECT * FROM runs WHERE agent = coalesce(?, agent) ORDER BY run')
      .all(agent ?? null);
    return rows.map(({ agent: of, run, open, facts_to }) => ({
      agent: String(of),
      run: Number(run),
      open: open === 1,
      factsTo: Number(facts_to),
    }));
  }

  /** Places of the lines for the CLI that are kept. */
  inputs(agent: string) {
    const rows = this.#db.prepare('SELECT * FROM inputs WHERE agent = ? ORDER BY begins').all(agent);
    return rows.map(({ kind, begins, ends }) => ({
      kind: String(kind),
      from: Number(begins),
      to: Number(ends),
    }));
  }

  agents(): { id: string; state: string }[] {
    const rows = this.#db.prepare('SELECT id, state FROM agents ORDER BY seq').all();
    return rows.map(({ id, state }) => ({ id: String(id), state: String(state) }));
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}
