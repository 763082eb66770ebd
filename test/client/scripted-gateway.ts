import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { type ConnectOptions, connect, type Gateway } from '../../client/index.ts';
import { codecs, type Encoding } from '../../src/protocol/codec.ts';
import type { WireError } from '../../src/protocol/errors.ts';
import type { Welcome } from '../../src/protocol/notifications.ts';
import { parseOffer } from '../../src/protocol/subprotocols.ts';
import type { Subscription } from '../../src/protocol/subscription.ts';

export interface Asked {
  id: number;
  method: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the client sent
  params: any;
}

type Answer = { result: unknown } | { error: WireError };

/** A socket server on which a test plays the gateway: it says what is answered, and cuts and closes at will. */
export class ScriptedGateway {
  /** Every request of every connection, in order. */
  readonly asked: Asked[] = [];
  readonly tokens: (string | undefined)[] = [];
  /** Undefined leaves a call open. */
  answer: (asked: Asked) => Answer | undefined = () => ({ result: {} });
  /** Called in place of the welcome. */
  greet: (() => void) | undefined;
  welcome: Partial<Welcome> = {};
  readonly #server: WebSocketServer;
  #socket: WebSocket | undefined;
  #encoding: Encoding = 'json';
  readonly #clients: Gateway[] = [];
  #waiters = new Set<() => void>();

  private constructor(server: WebSocketServer) {
    this.#server = server;
    server.on('connection', (socket, request) =>
      this.#connected(socket, request.headers['sec-websocket-protocol']),
    );
  }

  static async open(): Promise<ScriptedGateway> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    return new ScriptedGateway(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.tokens.length;
  }

  async connect(options: ConnectOptions = {}): Promise<Gateway> {
    const client = await connect(this.url, { token: 'tok', ...options });
    this.#clients.push(client);
    return client;
  }

  /** Frames that are sent in one go reach the client in one go, before any of its promises runs. */
  send(...messages: object[]): void {
    const socket = this.#socket as WebSocket & { _socket: { cork(): void; uncork(): void } };
    socket._socket.cork();
    for (const message of messages)
      socket.send(codecs[this.#encoding].encode({ jsonrpc: '2.0', ...message }));
    socket._socket.uncork();
  }

  events(tree: string, ...events: object[]): object {
    return { method: 'events', params: { tree, events } };
  }

  heartbeat(through: number): object {
    return { method: 'heartbeat', params: { through } };
  }

  greetNow(): void {
    this.send({ method: 'welcome', params: { ...defaultWelcome, ...this.welcome } });
  }

  close(code: number, reason = ''): void {
    this.#socket?.close(code, reason);
  }

  cut(): void {
    this.#socket?.terminate();
  }

  sendRaw(frame: string): void {
    this.#socket?.send(frame);
  }

  /** The n-th request of this method (1-based), as soon as it is there. */
  async request(method: string, n = 1): Promise<Asked> {
    return this.until(() => this.asked.filter((asked) => asked.method === method)[n - 1]);
  }

  async until<T>(look: () => T | undefined | false): Promise<T> {
    for (;;) {
      const found = look();
      if (found) return found;
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close();
    for (const socket of this.#server.clients) socket.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connected(socket: WebSocket, offered: string | undefined): void {
    const offer = parseOffer(offered);
    this.#socket = socket;
    this.#encoding = offer.kind === 'chosen' ? offer.encoding : 'json';
    this.tokens.push(offer.kind === 'chosen' ? offer.token : undefined);
    socket.on('message', (data: Buffer, isBinary) => this.#received(isBinary ? data : data.toString()));
    if (this.greet) this.greet();
    else this.greetNow();
    this.#wake();
  }

  #received(frame: string | Buffer): void {
    const decoded = codecs[this.#encoding].decode(frame);
    if (!decoded.ok) throw new Error(decoded.message);
    const asked = decoded.value as Asked;
    this.asked.push(asked);
    const answer = this.answer(asked);
    if (answer) this.send({ id: asked.id, ...answer });
    this.#wake();
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter();
  }
}

const defaultWelcome: Welcome = {
  server: 'scripted',
  version: '0.0.0',
  epoch: 'e1',
  head: 0,
  principal: 'tester',
  scopes: ['admin'],
  heartbeatMs: 25_000,
  claude: { version: null },
  limits: { maxFrameBytes: 1024 * 1024, maxEventBytes: 1024, maxOpenCalls: 64, maxSubscriptions: 256 },
};

export const subscribed = (more: Partial<Subscription> = {}): Answer => ({
  result: { epoch: 'e1', head: 0, verdict: 'ok', ...more },
});

export const fact = (seq: number, type = 'agent.notice', more: object = {}): object => ({
  seq,
  at: 1,
  agent: 'a',
  type,
  data: { code: 'noise', message: `fact ${seq}` },
  ...more,
});

export const delta = (at: number, text: string, more: object = {}): object => ({
  type: 'delta',
  agent: 'a',
  message: 'm1',
  block: 0,
  kind: 'text',
  at,
  text,
  ...more,
});
