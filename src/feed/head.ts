import type { Published } from '../agents/draft.ts';
import type { Journal } from '../journal/journal.ts';
import { Feed, type Sink, type Source, type Subscription } from './feed.ts';
import { Frame } from './frame.ts';

/** About so much of events goes into one frame. */
const frameBytes = 64 * 1024;

/** The live head: hands each published frame to the feeds that stand there. */
export class Head implements Source {
  readonly journal: Journal;
  readonly liveText: Source['liveText'];
  /** By tree; those of all trees under `*`. */
  readonly #feeds = new Map<string, Set<Feed>>();
  #published: number;
  readonly #opened: (feed: Feed) => void;

  /** `opened`: to be told of each new feed. */
  constructor(journal: Journal, liveText: Source['liveText'], opened: (feed: Feed) => void = () => {}) {
    this.journal = journal;
    this.liveText = liveText;
    this.#opened = opened;
    this.#published = journal.head;
  }

  /** The newest seq that the feeds at the head were given. */
  get published(): number {
    return this.#published;
  }

  publish({ tree, owner }: { tree: string; owner: string }, events: readonly Published[]): void {
    const seqs = events.flatMap((event) => ('fact' in event ? [event.fact.seq] : []));
    const through = seqs.at(-1);
    if (seqs[0] !== undefined && seqs[0] !== this.#published + 1) this.#lookBack();
    // Asked once for all parts: the text in front of a fact goes with it, or not at all.
    const takers = this.#takers(tree, owner).filter((feed) => feed.lacks(through));
    for (const part of takers.length > 0 ? parts(events) : []) {
      const frame = new Frame(tree, part);
      for (const feed of takers) feed.offer(frame);
    }
    this.#published = Math.max(through ?? 0, this.#published);
  }

  /** We were told out of turn. The journal has the order, so everybody reads on there. */
  #lookBack(): void {
    for (const feeds of this.#feeds.values()) for (const feed of feeds) feed.lookBack();
  }

  /** Whether any feed takes what is published of this tree. */
  isWatched({ tree, owner }: { tree: string; owner: string }): boolean {
    return this.#takers(tree, owner).length > 0;
  }

  #takers(tree: string, owner: string): Feed[] {
    const feeds = [...(this.#feeds.get(tree) ?? []), ...(this.#feeds.get('*') ?? [])];
    return feeds.filter((feed) => feed.takes(tree, owner));
  }

  open(subscription: Subscription, sink: Sink): Feed {
    const feed = new Feed(subscription, sink, this);
    const feeds = this.#feeds.get(feed.tree) ?? new Set();
    this.#feeds.set(feed.tree, feeds.add(feed));
    this.#opened(feed);
    return feed;
  }

  close(feed: Feed): void {
    feed.close();
    const feeds = this.#feeds.get(feed.tree);
    feeds?.delete(feed);
    if (feeds?.size === 0) this.#feeds.delete(feed.tree);
  }
}

function parts(events: readonly Published[]): Published[][] {
  const all: Published[][] = [[]];
  let bytes = 0;
  for (const event of events) {
    if (bytes >= frameBytes) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)?.push(event);
    bytes +=
      'fact' in event ? (event.fact.data?.length ?? 0) + event.fact.head.length : event.delta.text.length;
  }
  return all;
}
