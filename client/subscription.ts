import type { Event } from '../src/protocol/events.ts';
import type { Subscription as Answer } from '../src/protocol/subscription.ts';
import type { Outcome, Post } from './calls.ts';
import { backoffMs, type Clock } from './clock.ts';
import { RequestError, UnknownOutcomeError } from './errors.ts';
import type { Reader } from './reader.ts';

/** What is needed of the client. */
export interface Desk {
  readonly clock: Clock;
  /** Undefined while there is no connection. */
  readonly epoch: string | undefined;
  post(post: Post): void;
  /** Nothing is left of it, here or at the gateway. */
  retire(subscription: Subscription): void;
}

/**
 * What the gateway is asked for on behalf of all readers of one tree. A connection has one cursor a tree, so it is the
 * oldest of theirs; whoever has an event already drops it. A reader that is full is left behind, and fetched from its
 * cursor when it has drained: the journal is the buffer.
 */
export class Subscription {
  readonly tree: string;
  readonly #desk: Desk;
  readonly #readers = new Set<Reader>();
  /** Those whose cursor is being continued on this connection. */
  readonly #fed = new Set<Reader>();
  /** One question at a time, so that the last answer is the one in force. */
  #asking = false;
  /** The gateway feeds this tree to this connection by itself. */
  #isOpen = false;
  #refusals = 0;

  constructor(tree: string, desk: Desk) {
    this.tree = tree;
    this.#desk = desk;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  add(reader: Reader): void {
    this.#readers.add(reader);
    this.settle();
  }

  drop(reader: Reader): void {
    this.#readers.delete(reader);
    this.#fed.delete(reader);
    this.settle();
  }

  /** Asks for what the readers want now, if that is not what they get. */
  settle(): void {
    if (this.#asking) return;
    const wanting = [...this.#readers].filter((reader) => reader.wants);
    const isConnected = this.#desk.epoch !== undefined;
    if (isConnected && wanting.some((reader) => !this.#fed.has(reader))) this.#ask(wanting);
    else if (this.#isOpen && this.#fed.size === 0) this.#unsubscribe();
    if (this.#readers.size === 0 && !this.#asking) this.#desk.retire(this);
  }

  lost(): void {
    this.#isOpen = false;
    this.#fed.clear();
  }

  received(epoch: string, events: readonly Event[], units: number): void {
    for (const reader of [...this.#fed]) {
      reader.accept(epoch, events, units);
      if (!reader.wants) this.#fed.delete(reader);
    }
    if (this.#fed.size === 0) this.settle();
  }

  heard(epoch: string, through: number): void {
    for (const reader of this.#fed) reader.advance(epoch, through);
  }

  fail(error: unknown): void {
    for (const reader of this.#readers) reader.fail(error);
  }

  /** Until the answer, what is still under way is this tree's own, and nobody's. */
  #unsubscribe(): void {
    this.#asking = true;
    const settle = () => {
      this.#asking = false;
      this.#isOpen = false;
      this.settle();
    };
    this.#desk.post({ method: 'tree.unsubscribe', params: { tree: this.tree }, repeat: false, settle });
  }

  #ask(readers: readonly Reader[]): void {
    const [oldest] = readers.toSorted((one, other) => one.seq - other.seq);
    const deltas = readers.some((reader) => reader.deltas);
    this.#asking = true;
    this.#desk.post({
      method: 'tree.subscribe',
      params: { tree: this.tree, after: oldest?.cursor, deltas },
      repeat: false,
      settle: (outcome) => this.#answered(readers, outcome),
    });
  }

  #answered(readers: readonly Reader[], outcome: Outcome): void {
    this.#asking = false;
    if ('error' in outcome) return this.#refused(readers, outcome.error);
    this.#refusals = 0;
    this.#isOpen = true;
    const { epoch, verdict, reason, snapshot } = outcome.result as Answer;
    for (const reader of this.#readers) {
      const wasAsked = readers.includes(reader);
      // Other cursors are void too; the beginning never is.
      if (verdict === 'reset' && snapshot && (wasAsked || reader.cursor !== 'start')) {
        reader.snapshot(epoch, { type: 'snapshot', ...(reason && { reason }), snapshot });
      }
      if (wasAsked && reader.wants) this.#fed.add(reader);
    }
    this.settle();
  }

  #refused(readers: readonly Reader[], error: unknown): void {
    // The next connection asks anew.
    if (error instanceof UnknownOutcomeError) return;
    if (error instanceof RequestError && error.retryable) {
      this.#refusals += 1;
      const { clock } = this.#desk;
      clock.after(backoffMs(this.#refusals, clock), () => this.settle());
      return;
    }
    for (const reader of readers) reader.fail(error);
  }
}
