import type { Params } from '../src/protocol/methods.ts';
import type { After } from '../src/protocol/subscription.ts';
import type { Clock } from './clock.ts';
import type { ConnectionState } from './connection.ts';
import type { Encoding } from './encoding.ts';

export interface ConnectOptions {
  /** Not needed where the browser has the console's cookie. */
  token?: string;
  /** Default `json`. */
  encoding?: 'json' | Encoding;
  /** Closes the client for good. */
  signal?: AbortSignal;
  /** Told of each change, so that a program can say that it is reconnecting. */
  onState?(state: ConnectionState): void;
  /** For tests. */
  clock?: Clock;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /**
   * Sends it again after a reconnect, rather than failing with `UnknownOutcomeError`. Always so for methods that
   * change something: their `key` makes it the same call.
   */
  repeat?: boolean;
}

export interface SubscribeOptions {
  /** Default `now`: a snapshot, then what follows. */
  after?: After;
  /** Live text too; default true. */
  deltas?: boolean;
  signal?: AbortSignal | undefined;
}

export type TaskParams = Omit<Params<'task.start'>, 'subscribe'>;
