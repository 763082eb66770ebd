import type { Principal } from '../agents/principal.ts';
import { type PositionOf, snapshotView } from '../agents/views.ts';
import type { Feed, Sink } from '../feed/feed.ts';
import type { Head } from '../feed/head.ts';
import type { Journal, Scope } from '../journal/journal.ts';
import { RequestError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import type { Params, Result } from '../protocol/methods.ts';
import type { Snapshot } from '../protocol/subscription.ts';
import { demandTree } from './access.ts';
import type { World } from './methods.ts';

/** One connection's feeds: at most one for each tree. */
export class Subscriptions {
  readonly #journal: Journal;
  readonly #head: Head;
  readonly #positionOf: PositionOf;
  readonly #principal: Principal;
  readonly #sink: Sink;
  readonly #feeds = new Map<string, Feed>();

  constructor(world: Pick<World, 'journal' | 'head' | 'agents'>, principal: Principal, sink: Sink) {
    this.#journal = world.journal;
    this.#head = world.head;
    this.#positionOf = (agent) => world.agents.position(agent);
    this.#principal = principal;
    this.#sink = sink;
  }

  /**
   * Opens the feed, in place of an earlier one of the same tree. It gives nothing before `pump`, so that the
   * answer with the snapshot goes out first.
   */
  async open({
    tree,
    after = 'now',
    deltas = true,
  }: Params<'tree.subscribe'>): Promise<Result<'tree.subscribe'>> {
    if (tree !== '*') await demandTree(this.#journal, this.#principal, tree);
    if (!this.#feeds.has(tree) && this.#feeds.size >= limits.maxSubscriptions) {
      const limit = limits.maxSubscriptions;
      throw new RequestError('refused', `At most ${limit} subscriptions a connection.`, {
        rule: 'maxSubscriptions',
        limit,
      });
    }
    const begin = await this.#begin(tree, after);
    this.close(tree);
    const owner = this.#owner;
    const feed = this.#head.open(
      {
        tree,
        ...(owner !== undefined && { owner }),
        deltas,
        after: begin.seq,
        except: () => [...this.#feeds.keys()].filter((name) => name !== '*'),
      },
      this.#sink,
    );
    this.#feeds.set(tree, feed);
    return { epoch: this.#journal.epoch, head: this.#journal.head, ...begin.told };
  }

  async #begin(tree: string, after: NonNullable<Params<'tree.subscribe'>['after']>) {
    if (after === 'start') return { seq: 0, told: { verdict: 'ok' as const } };
    if (after !== 'now') {
      const judged = await this.#journal.judge(after);
      if (judged.verdict === 'ok') return { seq: after.seq, told: judged };
      const snapshot = await this.snapshot(tree);
      return { seq: snapshot.seq, told: { ...judged, snapshot } };
    }
    const snapshot = await this.snapshot(tree);
    return { seq: snapshot.seq, told: { verdict: 'ok' as const, snapshot } };
  }

  /** A tree, or all that live of those that the principal may read. */
  async snapshot(tree: string): Promise<Snapshot> {
    const owner = this.#owner;
    const scope: Scope = tree === '*' ? { ...(owner !== undefined && { owner }) } : { tree };
    return snapshotView(await this.#journal.snapshot(scope, { live: tree === '*' }), this.#positionOf);
  }

  /** Undefined for an admin, who reads everybody's. */
  get #owner(): string | undefined {
    return this.#principal.scopes.includes('admin') ? undefined : this.#principal.owner;
  }

  close(tree: string): void {
    const feed = this.#feeds.get(tree);
    this.#feeds.delete(tree);
    if (feed) this.#head.close(feed);
  }

  closeAll(): void {
    for (const tree of [...this.#feeds.keys()]) this.close(tree);
  }

  /** Reads on, for all that are behind. */
  async pump(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.pump()));
  }

  /** The connection has everything of its subscriptions up to here. */
  get through(): number {
    return Math.min(this.#head.published, ...[...this.#feeds.values()].map((feed) => feed.through));
  }
}
