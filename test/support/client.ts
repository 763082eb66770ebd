import { once } from 'node:events';
import { WebSocket } from 'ws';
import { codecs, type Encoding } from '../../src/protocol/codec.ts';
import type { Delta, Fact } from '../../src/protocol/events.ts';
import type { MethodName, Params, Result } from '../../src/protocol/methods.ts';
import type { Welcome } from '../../src/protocol/notifications.ts';
import { subprotocols } from '../../src/protocol/subprotocols.ts';

export class CallFailed extends Error {
  readonly code: string;
  readonly data: Record<string, unknown>;
  constructor(error: { message: string; data: { code: string } }) {
    super(`${error.data.code}: ${error.message}`);
    this.code = error.data.code;
    this.data = error.data;
  }
}

type Received = { tree: string; event: Fact | Delta };

/** A raw socket that keeps all that came, so that a test waits for what it needs and misses nothing. */
export class TestClient {
  readonly socket: WebSocket;
  readonly encoding: Encoding;
  readonly events: Received[] = [];
  readonly notifications: { method: string; params: Record<string, unknown> }[] = [];
  /** Frames as they came. */
  readonly frames: (string | Buffer)[] = [];
  closed: { code: number; reason: string } | undefined;
  #calls = new Map<number, (message: Record<string, unknown>) => void>();
  #lost = new AbortController();
  #next = 1;
  #waiters = new Set<() => void>();

  constructor(url: string, token: string, encoding: Encoding = 'json') {
    this.encoding = encoding;
    this.socket = new WebSocket(`${url.replace('http', 'ws')}/v1/ws`, [subprotocols[encoding]], {
      headers: { authorization: `Bearer ${token}` },
      maxPayload: 64 * 1024 * 1024,
    });
    this.socket.on('message', (data: Buffer, isBinary) => this.#received(isBinary ? data : data.toString()));
    this.socket.on('error', () => {});
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#lost.abort();
      this.#wake();
    });
  }

  static async connect(url: string, token: string, encoding: Encoding = 'json'): Promise<TestClient> {
    const client = new TestClient(url, token, encoding);
    await once(client.socket, 'open');
    return client;
  }

  async welcome(): Promise<Welcome> {
    const found = await this.until(() => this.notifications.find(({ method }) => method === 'welcome'));
    return found.params as Welcome;
  }

  call<M extends MethodName>(method: M, params: Params<M>): Promise<Result<M>> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const lost = () => reject(new Error(`the socket closed before ${method} was answered`));
      if (this.closed) return lost();
      this.#lost.signal.addEventListener('abort', lost);
      this.#calls.set(id, (message) => {
        this.#calls.delete(id);
        this.#lost.signal.removeEventListener('abort', lost);
        if (message.error) reject(new CallFailed(message.error as never));
        else resolve(message.result as Result<M>);
      });
      this.socket.send(codecs[this.encoding].encode({ jsonrpc: '2.0', id, method, params }));
    });
  }

  get facts(): Fact[] {
    return this.events.flatMap(({ event }) => (event.type === 'delta' ? [] : [event]));
  }

  of<T extends Fact['type']>(type: T, agent?: string): Fact<T>[] {
    return this.facts.filter((fact) => fact.type === type && (!agent || fact.agent === agent)) as Fact<T>[];
  }

  async fact<T extends Fact['type']>(
    type: T,
    fits: (fact: Fact<T>) => boolean = () => true,
  ): Promise<Fact<T>> {
    return this.until(() => this.of(type).find(fits));
  }

  state(agent: string, ...names: string[]): Promise<Fact<'agent.state'>> {
    return this.fact('agent.state', (fact) => fact.agent === agent && names.includes(fact.data.state));
  }

  /** Resolves when the look finds something; looked at after each message. */
  async until<T>(look: () => T | undefined | false): Promise<T> {
    for (;;) {
      const found = look();
      if (found) return found;
      if (this.closed) throw new Error(`the socket closed: ${this.closed.code} ${this.closed.reason}`);
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  async close(): Promise<void> {
    if (this.socket.readyState === WebSocket.CLOSED) return;
    const closed = once(this.socket, 'close');
    this.socket.terminate();
    await closed;
  }

  #received(frame: string | Buffer): void {
    this.frames.push(frame);
    const decoded = codecs[this.encoding].decode(frame);
    if (!decoded.ok) throw new Error(decoded.message);
    const message = decoded.value as Record<string, unknown>;
    if ('id' in message) {
      this.#calls.get(message.id as number)?.(message);
    } else {
      this.notifications.push(message as never);
      if (message.method === 'events') {
        const { tree, events } = message.params as { tree: string; events: (Fact | Delta)[] };
        for (const event of events) this.events.push({ tree, event });
      }
    }
    this.#wake();
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter();
  }
}
