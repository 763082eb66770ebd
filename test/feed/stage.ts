import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Feed, Sink, Subscription } from '../../src/feed/feed.ts';
import { Head } from '../../src/feed/head.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { SqliteJournal } from '../../src/journal/sqlite.ts';
import { type Chunk, Tree } from './tree.ts';

/** A journal, its live head, and trees that write. */
export class FeedStage implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'spawngate-feed-'));
  readonly journal = new SqliteJournal(join(this.folder, 'journal.db'));
  readonly trees: readonly Tree[];
  readonly head: Head;
  /** One step of a tree's agent after the other. */
  readonly #written = new Map<Tree, Promise<void>>();

  /** `reading`: the journal as the feeds see it. */
  constructor(
    trees: readonly Tree[] = [new Tree('a')],
    reading: (journal: Journal) => Journal = (same) => same,
  ) {
    this.trees = trees;
    this.head = new Head(reading(this.journal), (id) =>
      trees.filter((tree) => !id || tree.id === id).map((tree) => tree.live),
    );
  }

  /** Commits that the trees exist, as an owner's scope asks for it. */
  async found(): Promise<this> {
    for (const { id, owner } of this.trees) {
      const agent = {
        id,
        tree: id,
        owner,
        createdAt: 1,
        state: 'running',
        task: '{}',
        record: '{}',
      } as const;
      const born = { tree: id, agent: id, at: 1, type: 'agent.created', data: '{}' };
      const facts = await this.journal.commit({
        facts: [born],
        changes: [{ type: 'agent.create', fact: 0, agent }],
      });
      this.head.publish(
        this.trees.find((tree) => tree.id === id) as never,
        facts.map((fact) => ({ fact })),
      );
    }
    return this;
  }

  /** As an agent does it: what has facts is published once they are committed, the rest at once. */
  write(tree: Tree, chunk: Chunk, committed: Promise<unknown> = Promise.resolve()): Promise<void> {
    const before = this.#written.get(tree) ?? Promise.resolve();
    const written = before.then(() => this.#write(tree, chunk, committed));
    this.#written.set(tree, written);
    return written;
  }

  async #write(tree: Tree, chunk: Chunk, committed: Promise<unknown>): Promise<void> {
    const { facts, events } = tree.hear(chunk);
    const stored = facts.length > 0 ? await this.journal.commit({ facts, changes: [] }) : undefined;
    if (stored) await committed;
    this.head.publish({ tree: tree.id, owner: tree.owner }, events(stored ?? []));
  }

  open(sink: Sink, subscription: Partial<Subscription> = {}): Feed {
    return this.head.open({ tree: 'a', deltas: true, after: 0, except: () => [], ...subscription }, sink);
  }

  [Symbol.dispose](): void {
    this.journal.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
