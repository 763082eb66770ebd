import type { Welcome } from '../src/protocol/notifications.ts';
import { backoffMs, type Clock } from './clock.ts';
import type { Encoding } from './encoding.ts';
import { type EndError, RefusedError, UnreachableError } from './errors.ts';

export type ConnectionState =
  /** `again`: it has been open before. */
  | { is: 'connecting'; attempt: number; again: boolean }
  | { is: 'open'; welcome: Welcome }
  /** For the next attempt. */
  | { is: 'waiting'; attempt: number; delayMs: number; closeCode: number }
  | { is: 'closed'; error: EndError };

export interface Target {
  url: string;
  subprotocols: string[];
  encoding: Encoding;
  clock: Clock;
}

export interface Listener {
  opened(welcome: Welcome): void;
  /** `size` is that of the frame, in the units of its encoding. */
  received(message: object, size: number): void;
  lost(closeCode: number): void;
  changed(state: ConnectionState): void;
}

/** From the first byte to the welcome. */
const welcomeWithinMs = 15_000;
/** Whoever stood so long starts anew with the short pauses. */
const steadyMs = 10_000;
/** What a socket ends with that was cut (RFC 6455, 7.4.1), and one whose bytes make no sense. */
const cut = 1006;
const nonsense = 1007;

/** One socket after another, one attempt at a time, until it is closed for good. */
export class Connection {
  readonly #target: Target;
  readonly #listener: Listener;
  #state: ConnectionState = { is: 'connecting', attempt: 1, again: false };
  #socket: WebSocket | undefined;
  /** Owns the listeners of the present socket. */
  #life = new AbortController();
  /** There is one timer in each state: for the welcome, for a sign of life, or for the next attempt. */
  #stopTimer: () => void = () => {};
  /** Since the connection last was steady. */
  #attempts = 1;
  #openedAt = 0;
  #heardAt = 0;

  constructor(target: Target, listener: Listener) {
    this.#target = target;
    this.#listener = listener;
    this.#connect();
  }

  get state(): ConnectionState {
    return this.#state;
  }

  send(frame: string | Uint8Array<ArrayBuffer>): void {
    this.#socket?.send(frame);
  }

  /** For good. */
  close(error: EndError): void {
    if (this.#state.is === 'closed') return;
    this.#leave();
    this.#become({ is: 'closed', error });
  }

  #connect(): void {
    const { url, subprotocols } = this.#target;
    const socket = new WebSocket(url, subprotocols);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    this.#life = new AbortController();
    const { signal } = this.#life;
    socket.addEventListener('message', ({ data }) => this.#received(data), { signal });
    // An error event says no more than the close that follows it.
    socket.addEventListener('close', ({ code, reason }) => this.#lost(code, reason), { signal });
    this.#after(welcomeWithinMs, () => this.#lost(cut));
  }

  #received(frame: string | ArrayBuffer): void {
    let message: { method?: string; params?: unknown };
    try {
      message = this.#target.encoding.decode(frame) as typeof message;
    } catch {
      // No gateway speaks so: it is left like one that was cut.
      return this.#lost(nonsense);
    }
    this.#heardAt = this.#target.clock.now();
    if (message.method === 'welcome') this.#welcomed(message.params as Welcome);
    else this.#listener.received(message, typeof frame === 'string' ? frame.length : frame.byteLength);
  }

  #welcomed(welcome: Welcome): void {
    this.#openedAt = this.#heardAt;
    this.#become({ is: 'open', welcome });
    this.#watch(2 * welcome.heartbeatMs);
    this.#listener.opened(welcome);
  }

  /** Two heartbeats of silence: the other side is gone without a word. */
  #watch(silenceMs: number): void {
    const left = this.#heardAt + silenceMs - this.#target.clock.now();
    if (left <= 0) this.#lost(cut);
    else this.#after(left, () => this.#watch(silenceMs));
  }

  #lost(closeCode: number, reason = ''): void {
    const was = this.#state;
    this.#leave();
    if (!comesBack(closeCode)) {
      this.#become({ is: 'closed', error: new RefusedError(closeCode, reason) });
    } else if (was.is === 'connecting' && !was.again) {
      this.#become({ is: 'closed', error: new UnreachableError(this.#target.url, closeCode) });
    } else {
      this.#listener.lost(closeCode);
      this.#wait(was, closeCode);
    }
  }

  #wait(was: ConnectionState, closeCode: number): void {
    const { clock } = this.#target;
    const stood = was.is === 'open' && clock.now() - this.#openedAt >= steadyMs;
    this.#attempts = stood ? 1 : this.#attempts + 1;
    const attempt = this.#attempts;
    const delayMs = backoffMs(attempt, clock);
    this.#after(delayMs, () => {
      this.#become({ is: 'connecting', attempt, again: true });
      this.#connect();
    });
    this.#become({ is: 'waiting', attempt, delayMs, closeCode });
  }

  /** A dead socket may take long over its close, so nothing more of it is waited for. */
  #leave(): void {
    this.#stopTimer();
    this.#life.abort();
    this.#socket?.close();
    this.#socket = undefined;
  }

  #after(ms: number, run: () => void): void {
    this.#stopTimer();
    this.#stopTimer = this.#target.clock.after(ms, run);
  }

  #become(state: ConnectionState): void {
    this.#state = state;
    this.#listener.changed(state);
  }
}

/** The protocol's rule for every close code, known or not. */
export function comesBack(closeCode: number): boolean {
  return closeCode < 4500 || closeCode > 4999;
}
