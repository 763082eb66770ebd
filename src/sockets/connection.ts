import type { WebSocket } from 'ws';
import type { Log } from '../agents/ports.ts';
import { demandScope, type Principal } from '../agents/principal.ts';
import type { Sink } from '../feed/feed.ts';
import { JournalUnavailable } from '../journal/journal.ts';
import { type CloseCodeNumber, closeCodes } from '../protocol/close-codes.ts';
import { codecs, type Encoding } from '../protocol/codec.ts';
import { RequestError, rpcNumbers } from '../protocol/errors.ts';
import { closeOverOpenCalls, limits, maxMalformedFrames } from '../protocol/limits.ts';
import { isMethodName, methods } from '../protocol/methods.ts';
import type { Notification, NotificationName } from '../protocol/notifications.ts';
import { type CallId, notificationSchema, type Request, requestSchema } from '../protocol/rpc.ts';
import { type Caller, type World, wireMethods } from './methods.ts';
import { Subscriptions } from './subscriptions.ts';

/** Above so many waiting bytes a connection isn't fed. */
const fullBytes = 256 * 1024;

/** One client's socket: its calls, its subscriptions, and what goes out to it. */
export class Connection implements Sink {
  readonly encoding: Encoding;
  readonly #socket: WebSocket;
  readonly #log: Log;
  readonly #methods: ReturnType<typeof wireMethods>;
  readonly #caller: Caller;
  #openCalls = 0;
  readonly #calls = { left: limits.maxCallsPerSecond, at: performance.now() };
  #malformed = 0;
  /** It has been full, so that feeds may stand behind. */
  #choked = false;
  /** Sends that had to wait until the peer made room: any change says that it reads. */
  #taken = 0;

  constructor(
    socket: WebSocket,
    encoding: Encoding,
    client: { principal: Principal; world: World; log: Log },
  ) {
    const { principal, world, log } = client;
    this.encoding = encoding;
    this.#socket = socket;
    this.#log = log;
    this.#methods = wireMethods(world);
    this.#caller = { principal, subscriptions: new Subscriptions(world, principal, this) };
    socket.on('message', (data: Buffer, isBinary) => this.#received(data, isBinary));
    socket.on('close', () => this.#caller.subscriptions.closeAll());
    // The close event follows; ws says here what was wrong with the peer's bytes.
    socket.on('error', (error) => log.info({ err: error }, 'a socket failed'));
  }

  get full(): boolean {
    return this.#socket.bufferedAmount > fullBytes;
  }

  /** How often the peer has made room so far, and whether something waits. */
  get progress(): { taken: number; waiting: boolean } {
    return { taken: this.#taken, waiting: this.#socket.bufferedAmount > 0 };
  }

  get through(): number {
    return this.#caller.subscriptions.through;
  }

  send(bytes: Uint8Array | string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    let waits = false;
    this.#socket.send(bytes, { binary: codecs[this.encoding].binary }, (error) => {
      if (error) return;
      // What goes into the system's own buffer says nothing of the peer.
      if (waits) this.#taken += 1;
      if (!this.#choked || this.full) return;
      this.#choked = false;
      void this.#pump();
    });
    waits = this.#socket.bufferedAmount > 0;
    // Only what is sent fills it, so whoever falls behind does it after this.
    this.#choked ||= this.full;
  }

  notify<N extends NotificationName>(method: N, params: Notification<N>): void {
    this.send(codecs[this.encoding].encode({ jsonrpc: '2.0', method, params }));
  }

  close(code: CloseCodeNumber): void {
    this.#socket.close(code, closeCodes[code].reason);
  }

  #received(data: Buffer, isBinary: boolean): void {
    // What was under way when we closed it would be carried out without an answer.
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const decoded = codecs[this.encoding].decode(isBinary ? data : data.toString('utf8'));
    if (!decoded.ok) {
      if (decoded.fault === 'wrong_type') return this.close(4502);
      return this.#refuse(null, new RequestError('invalid', decoded.message, {}, rpcNumbers.parse));
    }
    const request = requestSchema.safeParse(decoded.value);
    if (request.success) return void this.#call(request.data);
    if (notificationSchema.safeParse(decoded.value).success) return;
    const words = 'Send a JSON-RPC 2.0 request: {"jsonrpc":"2.0","id":1,"method":"ping","params":{}}.';
    this.#refuse(idOf(decoded.value), new RequestError('invalid', words, {}, rpcNumbers.invalidRequest));
  }

  /** A client that sends nothing but rubbish is no client. */
  #refuse(id: CallId | null, error: RequestError): void {
    this.#malformed += 1;
    if (this.#malformed > maxMalformedFrames) return this.close(4502);
    this.#answer({ id, error: error.toWire() });
  }

  async #call({ id, method, params = {} }: Request): Promise<void> {
    if (this.#openCalls >= closeOverOpenCalls) return this.close(4503);
    this.#openCalls += 1;
    try {
      this.#answer({ id, result: await this.#carryOut(method, params) });
      await this.#pump();
    } catch (error) {
      this.#answer({ id, error: this.#requestError(error, method).toWire() });
    } finally {
      this.#openCalls -= 1;
    }
  }

  async #carryOut(name: string, params: object): Promise<unknown> {
    this.#spendCall();
    const limit = limits.maxOpenCalls;
    if (this.#openCalls > limit) {
      throw new RequestError('overloaded', `Over ${limit} calls are open. Await some answers first.`, {
        limit,
      });
    }
    if (!isMethodName(name)) {
      const words = `There is no method ${name}. GET /v1/schema lists them.`;
      throw new RequestError('invalid', words, {}, rpcNumbers.methodNotFound);
    }
    const { scope, params: schema } = methods[name];
    const checked = schema.safeParse(params);
    if (!checked.success) throw new RequestError('invalid', faultsOf(checked.error.issues));
    if (scope) demandScope(this.#caller.principal, scope);
    const carryOut = this.#methods[name] as (params: unknown, caller: Caller) => Promise<unknown>;
    return carryOut(checked.data, this.#caller);
  }

  /** A bucket of one second's calls, filled as time goes by. */
  #spendCall(): void {
    const limit = limits.maxCallsPerSecond;
    const now = performance.now();
    this.#calls.left = Math.min(limit, this.#calls.left + ((now - this.#calls.at) / 1_000) * limit);
    this.#calls.at = now;
    if (this.#calls.left < 1) {
      const retryAfterMs = Math.ceil(1_000 / limit);
      throw new RequestError('rate_limited', `Over ${limit} calls a second. Slow down.`, {
        limit,
        retryAfterMs,
      });
    }
    this.#calls.left -= 1;
  }

  #requestError(error: unknown, method: string): RequestError {
    if (error instanceof RequestError) return error;
    if (error instanceof JournalUnavailable || isDiskFull(error)) {
      return new RequestError(
        'unavailable',
        'The journal cannot be written now (disk full?). Try again later.',
      );
    }
    const ref = crypto.randomUUID().slice(0, 8);
    this.#log.error({ err: error, method, ref }, 'a call failed');
    return new RequestError('internal', `The gateway failed. Its log has the details under ${ref}.`, { ref });
  }

  #answer(answer: { id: CallId | null; result: unknown } | { id: CallId | null; error: unknown }): void {
    this.send(codecs[this.encoding].encode({ jsonrpc: '2.0', ...answer }));
  }

  failed(error: unknown): void {
    this.#log.warn({ err: error }, 'a feed could not be read');
    this.close(1013);
  }

  #pump(): Promise<void> {
    return this.#caller.subscriptions.pump();
  }
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

function idOf(value: unknown): CallId | null {
  const id = (value as { id?: unknown } | null)?.id;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

function faultsOf(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length > 0 ? `${path.map(String).join('.')}: ${message}` : message))
    .join('; ');
}
