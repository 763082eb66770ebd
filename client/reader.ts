import type { CutFact, Delta, Event, Fact } from '../src/protocol/events.ts';
import type { After, Cursor, ResetReason, Snapshot } from '../src/protocol/subscription.ts';
import { LiveText } from './live-text.ts';

/** All that is known as of `snapshot.seq`. With a `reason` what came before is void: the cursor could not be continued. */
export interface SnapshotEvent {
  type: 'snapshot';
  reason?: ResetReason;
  snapshot: Snapshot;
}

/** What a reader is handed: whole facts, text that it hasn't had, and snapshots. */
export type TreeEvent = Fact | Delta | SnapshotEvent;
type Waiting = Fact | CutFact | Delta | SnapshotEvent;

/** Frames that wait to be read, in units of their encoding. At the mark a reader takes no more, till half is read. */
const fullUnits = 4 * 1024 * 1024;

export interface ReaderHost {
  /** The reader takes events again, from its cursor. */
  drained(): void;
}

/**
 * One consumer's cursor in a tree, and what was received and not yet read. Facts that it has had are dropped, and text
 * is placed, so that it may be fed from anywhere before its cursor.
 */
export class Reader {
  readonly deltas: boolean;
  readonly #host: ReaderHost;
  readonly #text = new LiveText();
  #cursor: Cursor | 'start';
  readonly #batches: { events: Waiting[]; units: number }[] = [];
  #units = 0;
  #full = false;
  #failure: { error: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(cursor: Cursor | 'start', deltas: boolean, host: ReaderHost) {
    this.#cursor = cursor;
    this.deltas = deltas;
    this.#host = host;
  }

  /** Where it wants to go on. */
  get cursor(): Exclude<After, 'now'> {
    return this.#cursor;
  }

  get seq(): number {
    return this.#cursor === 'start' ? 0 : this.#cursor.seq;
  }

  /** Whether it takes events now. */
  get wants(): boolean {
    return !this.#full && !this.#failure;
  }

  accept(epoch: string, events: readonly Event[], units: number): void {
    const fresh = events.flatMap((event) => this.#fresh(epoch, event) ?? []);
    if (fresh.length > 0) this.#push(fresh, units);
  }

  snapshot(epoch: string, event: SnapshotEvent): void {
    this.#text.clear();
    this.#cursor = { epoch, seq: event.snapshot.seq };
    this.#push([event], 0);
  }

  /** It has all up to this number. */
  advance(epoch: string, through: number): void {
    if (through >= this.seq) this.#cursor = { epoch, seq: through };
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake.resolve();
  }

  /** The next event, as soon as there is one. Throws what it failed with, at once. */
  async next(): Promise<Waiting> {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      const event = this.#take();
      if (event) return event;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }

  #fresh(epoch: string, event: Event): Waiting | undefined {
    if (event.type === 'delta') return this.deltas ? this.#text.place(event) : undefined;
    if (event.seq <= this.seq) return undefined;
    this.#cursor = { epoch, seq: event.seq };
    const { agent, message, block } = event;
    if (message !== undefined && block !== undefined) this.#text.replace({ agent, message, block });
    return event;
  }

  #push(events: Waiting[], units: number): void {
    this.#batches.push({ events, units });
    this.#units += units;
    this.#full = this.#units >= fullUnits;
    this.#wake.resolve();
  }

  #take(): Waiting | undefined {
    const batch = this.#batches[0];
    const event = batch?.events.shift();
    if (batch?.events.length === 0) {
      this.#batches.shift();
      this.#units -= batch.units;
      if (this.#full && this.#units <= fullUnits / 2) {
        this.#full = false;
        this.#host.drained();
      }
    }
    return event;
  }
}
