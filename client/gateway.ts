import type { CutFact, Delta, Event, Fact } from '../src/protocol/events.ts';
import type { MethodName, Params, Result } from '../src/protocol/methods.ts';
import type { Events, Heartbeat, Welcome } from '../src/protocol/notifications.ts';
import type { Cursor } from '../src/protocol/subscription.ts';
import { bearerSubprotocol, socketUrl } from './address.ts';
import { call } from './call.ts';
import { Calls } from './calls.ts';
import { type Clock, systemClock } from './clock.ts';
import { Connection, type ConnectionState } from './connection.ts';
import { json } from './encoding.ts';
import { ClosedError, type EndError } from './errors.ts';
import type { CallOptions, ConnectOptions, SubscribeOptions, TaskParams } from './options.ts';
import { Reader, type SnapshotEvent, type TreeEvent } from './reader.ts';
import { Subscription } from './subscription.ts';
import { Task } from './task.ts';

/** A client of one gateway that holds on: over reconnects no event is lost and none is doubled. */
export class Gateway {
  readonly #clock: Clock;
  readonly #connection: Connection;
  readonly #calls: Calls;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Of the last welcome. */
  #epoch = '';

  /** Resolves with the first welcome. Throws if that attempt fails: there is nothing yet to hold on to. */
  static async connect(url: string, options: ConnectOptions = {}): Promise<Gateway> {
    const { signal } = options;
    if (signal?.aborted) throw new ClosedError(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const life = new AbortController();
    const gateway = new Gateway(url, options, (state) => {
      if (state.is === 'open') resolve();
      if (state.is === 'closed') {
        life.abort();
        reject(state.error);
      }
      options.onState?.(state);
    });
    signal?.addEventListener('abort', () => gateway.#connection.close(new ClosedError(signal.reason)), {
      signal: life.signal,
    });
    await promise;
    return gateway;
  }

  private constructor(
    url: string,
    { token, encoding: wanted, clock = systemClock }: ConnectOptions,
    changed: (state: ConnectionState) => void,
  ) {
    const encoding = typeof wanted === 'object' ? wanted : json;
    const subprotocols = [encoding.subprotocol, ...(token === undefined ? [] : [bearerSubprotocol(token)])];
    this.#clock = clock;
    this.#calls = new Calls({
      encoding,
      limits: () => this.#welcome?.limits,
      send: (frame) => this.#connection.send(frame),
    });
    this.#connection = new Connection(
      { url: socketUrl(url), subprotocols, encoding, clock },
      {
        opened: (welcome) => this.#opened(welcome),
        received: (message, size) => this.#received(message, size),
        lost: (closeCode) => this.#lost(closeCode),
        changed: (state) => {
          if (state.is === 'closed') this.#ended(state.error);
          changed(state);
        },
      },
    );
  }

  get state(): ConnectionState {
    return this.#connection.state;
  }

  /** Any method of the protocol. One that changes something gets a `key` and is repeated after a reconnect. */
  call<M extends MethodName>(method: M, params: Params<M>, options: CallOptions = {}): Promise<Result<M>> {
    const desk = { calls: this.#calls, clock: this.#clock };
    return call(desk, { method, params, options }) as Promise<Result<M>>;
  }

  /** Starts a task. Whatever is read of it is read from its beginning. */
  async start(params: TaskParams, options: CallOptions = {}): Promise<Task> {
    return new Task(this, await this.call('task.start', params, options));
  }

  /**
   * The events of a tree, or of all trees (`*`), from the cursor on, each once. It begins when it is first read, and
   * ends when one stops reading. As on the wire, `*` leaves out the trees that this client reads by themselves.
   */
  async *subscribe(tree: string, options: SubscribeOptions = {}): AsyncGenerator<TreeEvent, void, void> {
    const { after = 'now', deltas = true, signal } = options;
    signal?.throwIfAborted();
    const begin = after === 'now' ? await this.#present(tree, signal) : { cursor: after };
    const subscription = this.#subscriptionOf(tree);
    const reader = new Reader(begin.cursor, deltas, { drained: () => subscription.settle() });
    const abort = () => reader.fail(signal?.reason);
    signal?.addEventListener('abort', abort);
    try {
      if (this.state.is === 'closed') throw this.state.error;
      subscription.add(reader);
      if ('event' in begin) yield begin.event;
      for (;;) yield await this.#whole(await reader.next());
    } finally {
      signal?.removeEventListener('abort', abort);
      subscription.drop(reader);
    }
  }

  /** The whole data of a fact that was too large to be sent along. */
  async data(seq: number): Promise<unknown> {
    for (let json = ''; ; ) {
      const slice = await this.call('event.get', { seq, from: json.length }, { repeat: true });
      json += slice.json;
      if (slice.to >= slice.size) return JSON.parse(json);
    }
  }

  /** For good. Calls that are on their way fail with `UnknownOutcomeError`. */
  close(): void {
    this.#connection.close(new ClosedError());
  }

  [Symbol.dispose](): void {
    this.close();
  }

  get #welcome(): Welcome | undefined {
    return this.state.is === 'open' ? this.state.welcome : undefined;
  }

  async #present(tree: string, signal: AbortSignal | undefined) {
    const snapshot = await this.call('tree.get', { tree }, { repeat: true, signal });
    const cursor: Cursor = { epoch: this.#epoch, seq: snapshot.seq };
    return { cursor, event: { type: 'snapshot', snapshot } as const };
  }

  async #whole(event: Fact | CutFact | Delta | SnapshotEvent): Promise<TreeEvent> {
    if (!('size' in event) || event.data !== null) return event as TreeEvent;
    const { size: _, ...fact } = event;
    return { ...fact, data: await this.data(fact.seq) } as Fact;
  }

  #subscriptionOf(tree: string): Subscription {
    const known = this.#subscriptions.get(tree);
    if (known) return known;
    const gateway = this;
    const subscription = new Subscription(tree, {
      clock: this.#clock,
      get epoch() {
        return gateway.#welcome?.epoch;
      },
      post: (post) => void this.#calls.post(post),
      retire: (retired) => {
        if (this.#subscriptions.get(tree) === retired) this.#subscriptions.delete(tree);
      },
    });
    this.#subscriptions.set(tree, subscription);
    return subscription;
  }

  #opened({ epoch }: Welcome): void {
    this.#epoch = epoch;
    for (const subscription of [...this.#subscriptions.values()]) subscription.settle();
    this.#calls.opened();
  }

  #received(message: object, size: number): void {
    if ('id' in message) return this.#calls.answered(message as never);
    const { method, params } = message as { method: string; params: unknown };
    if (method === 'events') {
      const { tree, events } = params as Events;
      const own = this.#subscriptions.get(tree);
      const subscription = own?.isOpen ? own : this.#subscriptions.get('*');
      subscription?.received(this.#epoch, events as Event[], size);
    } else if (method === 'heartbeat') {
      const { through } = params as Heartbeat;
      for (const subscription of this.#subscriptions.values()) subscription.heard(this.#epoch, through);
    }
  }

  #lost(closeCode: number): void {
    for (const subscription of this.#subscriptions.values()) subscription.lost();
    this.#calls.lost(closeCode);
  }

  #ended(error: EndError): void {
    for (const subscription of this.#subscriptions.values()) subscription.fail(error);
    this.#calls.end(error);
  }
}
