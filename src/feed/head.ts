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
  readonly #feeds = new Set<Feed>();
  #published: number;

  constructor(journal: Journal, liveText: Source['liveText']) {
    this.journal = journal;
    this.liveText = liveText;
    this.#published = journal.head;
  }

  /** The newest seq that the feeds at the head were given. */
  get published(): number {
    return this.#published;
  }

  publish({ tree, owner }: { tree: string; owner: string }, events: readonly Published[]): void {
    const takers = [...this.#feeds].filter((feed) => feed.takes(tree, owner));
    for (const part of takers.length > 0 ? parts(events) : []) {
      const frame = new Frame(tree, part);
      for (const feed of takers) feed.offer(frame);
    }
    const last = events.findLast((event) => 'fact' in event);
    if (last && 'fact' in last) this.#published = last.fact.seq;
  }

  /** Whether any feed takes what is published of this tree. */
  isWatched({ tree, owner }: { tree: string; owner: string }): boolean {
    return [...this.#feeds].some((feed) => feed.takes(tree, owner));
  }

  open(subscription: Subscription, sink: Sink): Feed {
    const feed = new Feed(subscription, sink, this);
    this.#feeds.add(feed);
    return feed;
  }

  close(feed: Feed): void {
    feed.close();
    this.#feeds.delete(feed);
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
