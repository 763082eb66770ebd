import type { LiveTexts } from '../agents/agents.ts';
import type { Journal, Scope } from '../journal/journal.ts';
import type { Encoding } from '../protocol/codec.ts';
import { Frame, type FrameBytes, framesOf } from './frame.ts';

/** Where a feed's frames go: a connection. */
export type Sink = {
  readonly encoding: Encoding;
  /** So much waits on the socket that nothing more is to be given; `pump` is called when it has drained. */
  readonly full: boolean;
  send(bytes: Uint8Array): void;
  /** A feed can't be read: better no connection than one that is silent. */
  failed(error: unknown): void;
};

/** What a feed reads from. */
export type Source = {
  journal: Journal;
  /** The newest seq that was given to the feeds at the head. */
  readonly published: number;
  /** Unfinished text of a tree, or of all. */
  liveText(tree?: string): LiveTexts;
};

export type Subscription = {
  /** `*`: all trees of the owner, or of everybody if none is named. */
  tree: string;
  owner?: string | undefined;
  deltas: boolean;
  /** Facts up to here aren't sent. */
  after: number;
  /** Trees that have a feed of their own on the same connection. */
  except(): readonly string[];
};

const pageBytes = 64 * 1024;

/**
 * One subscription's cursor. There is one way to the reader: behind the head it reads pages from the journal;
 * at the head it's given the frames that are published. It gets to the head only if nothing was committed that
 * it hasn't read, so there is no gap between the two, and no queue.
 */
export class Feed {
  readonly #subscription: Subscription;
  readonly #sink: Sink;
  readonly #source: Source;
  #cursor: number;
  #state: 'behind' | 'reading' | 'live' | 'closed' = 'behind';

  constructor(subscription: Subscription, sink: Sink, source: Source) {
    this.#subscription = subscription;
    this.#sink = sink;
    this.#source = source;
    this.#cursor = subscription.after;
  }

  get tree(): string {
    return this.#subscription.tree;
  }

  /** The reader has everything of this feed up to here. */
  get through(): number {
    return this.#state === 'live' ? Math.max(this.#cursor, this.#source.published) : this.#cursor;
  }

  /** Whether events of this tree are for it. */
  takes(tree: string, owner: string): boolean {
    const { tree: own, owner: only, except } = this.#subscription;
    if (own !== '*') return own === tree;
    return (only === undefined || only === owner) && !except().includes(tree);
  }

  /** Whether it stands at the head and lacks what is published up to there: it may have read it before. */
  lacks(through: number | undefined): boolean {
    return this.#state === 'live' && (through === undefined || through > this.#cursor);
  }

  /** A frame of the head. Whoever can't take it now falls behind, and reads it from the journal later. */
  offer(frame: Frame): void {
    if (this.#state !== 'live') return;
    if (this.#sink.full) {
      this.#state = 'behind';
      return;
    }
    this.#send(frame.bytes(this.#sink.encoding, this.#subscription.deltas));
    this.#cursor = frame.through ?? this.#cursor;
  }

  /** Leaves the head, to come back to it through the journal. */
  lookBack(): void {
    if (this.#state !== 'live') return;
    this.#state = 'behind';
    void this.pump();
  }

  /** Reads on until the head is reached or the sink is full. */
  async pump(): Promise<void> {
    if (this.#state !== 'behind') return;
    this.#state = 'reading';
    try {
      while (this.#state === 'reading' && !this.#sink.full) await this.#readPage();
    } catch (error) {
      this.#sink.failed(error);
    } finally {
      if (this.#state === 'reading') this.#state = 'behind';
    }
  }

  close(): void {
    this.#state = 'closed';
  }

  async #readPage(): Promise<void> {
    const page = await this.#source.journal.read(this.#scope(), this.#cursor, pageBytes);
    if (this.#state === 'closed') return;
    for (const frame of framesOf(page.facts)) this.#send(frame.bytes(this.#sink.encoding, true));
    this.#cursor = page.through;
    // What was committed since the page was read is in the live text already.
    if (page.atHead && this.#cursor >= this.#source.journal.head) this.#reachHead();
  }

  #scope(): Scope {
    const { tree, owner, except } = this.#subscription;
    return tree === '*' ? { ...(owner !== undefined && { owner }), except: except() } : { tree };
  }

  /** Whoever reaches the head may have missed the beginning of what is being written. */
  #reachHead(): void {
    this.#state = 'live';
    const { tree, deltas } = this.#subscription;
    if (!deltas) return;
    for (const text of this.#source.liveText(tree === '*' ? undefined : tree)) {
      if (text.deltas.length === 0 || !this.takes(text.tree, text.owner)) continue;
      const events = text.deltas.map((delta) => ({ delta }));
      this.#send(new Frame(text.tree, events).bytes(this.#sink.encoding, true));
    }
  }

  #send(bytes: FrameBytes): void {
    if (bytes) this.#sink.send(bytes);
  }
}
