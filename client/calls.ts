import type { WireError } from '../src/protocol/errors.ts';
import type { WireLimits } from '../src/protocol/limits.ts';
import { bytesOf, type Encoding } from './encoding.ts';
import { type EndError, OverflowError, RequestError, TooLargeError, UnknownOutcomeError } from './errors.ts';

export type Outcome = { result: unknown } | { error: unknown };

/** What is needed of the connection. */
export interface Wire {
  readonly encoding: Encoding;
  /** Undefined while there is no connection. */
  limits(): WireLimits | undefined;
  send(frame: string | Uint8Array<ArrayBuffer>): void;
}

export interface Post {
  method: string;
  params: object;
  /** Sent again after a reconnect, rather than failing. */
  repeat: boolean;
  /** Called once, unless the call is given up. */
  settle(outcome: Outcome): void;
}

interface Call extends Post {
  frame: string | Uint8Array<ArrayBuffer>;
  size: number;
  /** On this connection or an earlier one. */
  sent: boolean;
  givenUp: boolean;
}

/** How one gives up a call; `sent` says whether it may be carried out all the same. */
export interface Posted {
  readonly sent: boolean;
  giveUp(): void;
}

/** Calls that wait to be sent; beyond it a call fails at once. */
const mostWaiting = 1_000;

/**
 * The open calls. As many as the gateway takes are on their way, the others wait in order. Settling is synchronous:
 * several frames may be handed to us before any promise runs, and an answer counts before the events behind it.
 */
export class Calls {
  readonly #wire: Wire;
  #waiting = new Map<number, Call>();
  readonly #open = new Map<number, Call>();
  #lastId = 0;
  #end: EndError | undefined;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  post(post: Post): Posted {
    this.#lastId += 1;
    const id = this.#lastId;
    // Encoded now, so that a repeated call is the same one, whatever became of its parameters.
    const frame = this.#wire.encoding.encode({
      jsonrpc: '2.0',
      id,
      method: post.method,
      params: post.params,
    });
    const call: Call = { ...post, frame, size: bytesOf(frame), sent: false, givenUp: false };
    if (this.#end) call.settle({ error: this.#end });
    else if (this.#waiting.size >= mostWaiting) call.settle({ error: new OverflowError(mostWaiting) });
    else this.#waiting.set(id, call);
    this.#send();
    return {
      get sent() {
        return call.sent;
      },
      // One on its way keeps its place among the open ones, as at the gateway.
      giveUp: () => {
        call.givenUp = true;
        this.#waiting.delete(id);
      },
    };
  }

  opened(): void {
    this.#send();
  }

  answered({ id, result, error }: { id: number | null; result?: unknown; error?: WireError }): void {
    const call = id === null ? undefined : this.#open.get(id);
    if (id === null || !call) return;
    this.#open.delete(id);
    if (!call.givenUp) call.settle(error ? { error: new RequestError(error) } : { result });
    this.#send();
  }

  lost(closeCode: number): void {
    const cut = [...this.#open].filter(([, call]) => !call.givenUp);
    this.#open.clear();
    // It would be closed again: the largest is the one that was too large.
    const culprit = closeCode === 1009 ? Math.max(...cut.map(([, { size }]) => size)) : undefined;
    const again = cut.filter(([, { repeat, size }]) => repeat && size !== culprit);
    this.#waiting = new Map([...again, ...this.#waiting]);
    for (const [id, call] of cut) {
      if (!this.#waiting.has(id)) call.settle({ error: new UnknownOutcomeError(call.method) });
    }
  }

  /** There will be no connection any more. */
  end(cause: EndError): void {
    this.#end = cause;
    const calls = [...this.#open.values(), ...this.#waiting.values()];
    this.#open.clear();
    this.#waiting.clear();
    for (const call of calls) {
      if (call.givenUp) continue;
      call.settle({ error: call.sent ? new UnknownOutcomeError(call.method, cause) : cause });
    }
  }

  #send(): void {
    for (const [id, call] of this.#waiting) {
      const limits = this.#wire.limits();
      if (!limits || this.#open.size >= limits.maxOpenCalls) return;
      this.#waiting.delete(id);
      const { frame, size, method } = call;
      if (size > limits.maxFrameBytes) {
        call.settle({ error: new TooLargeError(method, { size, limit: limits.maxFrameBytes }) });
        continue;
      }
      call.sent = true;
      this.#open.set(id, call);
      this.#wire.send(frame);
    }
  }
}
