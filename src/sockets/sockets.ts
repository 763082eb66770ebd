import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Log } from '../agents/ports.ts';
import type { Principal } from '../agents/principal.ts';
import type { Doorkeeper } from '../http/doorkeeper.ts';
import { type CloseCodeNumber, closeCodes } from '../protocol/close-codes.ts';
import type { Encoding } from '../protocol/codec.ts';
import { defaultHeartbeatMs, limits, noProgressMs, pongTimeoutMs } from '../protocol/limits.ts';
import { parseOffer, socketPath } from '../protocol/subprotocols.ts';
import { Connection } from './connection.ts';
import type { World } from './methods.ts';

/** So many looks in a row at a socket that takes nothing. */
const stalledLooks = 10;

/** The status of a refused upgrade, and a line of ASCII that says what to mend. */
type Refusal = [status: string, words: string];
const noToken: Refusal = [
  '401 Unauthorized',
  'The token is missing or no longer valid: send "Authorization: Bearer TOKEN".',
];
const noEncoding: Refusal = ['400 Bad Request', closeCodes[4504].reason];

export type SocketsOptions = {
  world: World;
  doorkeeper: Doorkeeper;
  log: Log;
  version: string;
  claudeVersion(): string | null;
  heartbeatMs?: number;
  /** How long a ping may go unanswered. */
  pongMs?: number;
  /** How long a socket may take nothing, though something waits for it. */
  stalledMs?: number;
};

/** All sockets: the upgrade, their heartbeat and their end. */
export class Sockets {
  readonly #options: SocketsOptions;
  readonly #heartbeatMs: number;
  readonly #pongMs: number;
  readonly #stalledMs: number;
  readonly #server: WebSocketServer;
  readonly #connections = new Set<Connection>();

  constructor(options: SocketsOptions) {
    this.#options = options;
    this.#heartbeatMs = options.heartbeatMs ?? defaultHeartbeatMs;
    this.#pongMs = options.pongMs ?? pongTimeoutMs;
    this.#stalledMs = options.stalledMs ?? noProgressMs;
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: limits.maxFrameBytes,
      perMessageDeflate: false,
      handleProtocols: (names) => answeredName(names) ?? false,
    });
  }

  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', (error) => this.#options.log.info({ err: error }, 'an upgrade failed'));
      const refusal = this.#refusalOf(request);
      if (refusal) return refuse(socket, ...refusal);
      this.#server.handleUpgrade(request, socket, head, (accepted) => this.#accept(accepted, request));
    });
  }

  /** Every socket is told, then closed; agents go on. */
  close(code: CloseCodeNumber): void {
    for (const connection of this.#connections) {
      connection.notify('goodbye', { reason: closeCodes[code].reason, reconnect: closeCodes[code].comeBack });
      connection.close(code);
    }
    this.#server.close();
  }

  #refusalOf(request: IncomingMessage): Refusal | undefined {
    const { doorkeeper } = this.#options;
    if (new URL(request.url ?? '/', 'http://any').pathname !== socketPath)
      return ['404 Not Found', `The socket is at ${socketPath}.`];
    const objection = doorkeeper.objection(request.headers);
    if (objection !== undefined) return ['403 Forbidden', objection];
    const { authorization, cookie } = request.headers;
    // A browser can't see a 401, so its bad token, ticket or cookie is told by a close code.
    if (authorization !== undefined) {
      return doorkeeper.principalOf(request.headers) ? undefined : noToken;
    }
    const offer = parseOffer(namesIn(request));
    if (offer.kind === 'unsupported' && !answeredName(namesIn(request))) return noEncoding;
    return offer.kind === 'none' && cookie === undefined ? noToken : undefined;
  }

  #accept(socket: WebSocket, request: IncomingMessage): void {
    const { doorkeeper } = this.#options;
    const offer = parseOffer(namesIn(request));
    const close = (code: CloseCodeNumber) => {
      socket.on('error', () => socket.terminate());
      socket.close(code, closeCodes[code].reason);
    };
    if (offer.kind === 'unsupported') return close(4504);
    if (this.#connections.size >= limits.maxConnections) return close(1013);
    const offered = offer.kind === 'chosen' ? doorkeeper.principalOfOffer(offer) : undefined;
    const principal = offered ?? doorkeeper.principalOf(request.headers);
    if (!principal) return close(4501);
    this.#serve(socket, offer.kind === 'chosen' ? offer.encoding : 'json', principal);
  }

  #serve(socket: WebSocket, encoding: Encoding, principal: Principal): void {
    const { world, log, version, claudeVersion } = this.#options;
    const connection = new Connection(socket, encoding, { principal, world, log });
    this.#connections.add(connection);
    const stop = this.#beat(socket, connection);
    socket.on('close', () => {
      stop();
      this.#connections.delete(connection);
    });
    connection.notify('welcome', {
      server: 'spawngate',
      version,
      epoch: world.journal.epoch,
      head: world.journal.head,
      principal: principal.name,
      scopes: [...principal.scopes],
      heartbeatMs: this.#heartbeatMs,
      claude: { version: claudeVersion() },
      limits,
    });
  }

  /** A ping and a heartbeat at each interval; any progress is life. Gives what ends its timers. */
  #beat(socket: WebSocket, connection: Connection): () => void {
    let heard = performance.now();
    let stuck = { taken: -1, looks: 0 };
    let pong: NodeJS.Timeout | undefined;
    const alive = () => {
      heard = performance.now();
    };
    socket.on('pong', alive).on('message', alive).on('ping', alive);
    const beat = () => {
      connection.notify('heartbeat', { through: connection.through });
      socket.ping();
      const asked = performance.now();
      const before = connection.progress.taken;
      const judge = () => {
        if (heard >= asked || connection.progress.taken !== before) return;
        connection.close(4001);
        // The other side may be gone without a word, so its close isn't waited for.
        setTimeout(() => socket.terminate(), 1_000).unref();
      };
      // If it was us who were held up, what came meanwhile is read first.
      pong = setTimeout(() => setImmediate(judge), this.#pongMs);
    };
    const watch = () => {
      const { taken, waiting } = connection.progress;
      // Looks are counted, not time: while we are held up ourselves nobody can take anything.
      stuck = waiting && taken === stuck.taken ? { taken, looks: stuck.looks + 1 } : { taken, looks: 0 };
      // A close frame would wait behind all the rest, and keep the memory.
      if (stuck.looks >= stalledLooks) socket.terminate();
    };
    // Jittered, so that a thousand clients of a restart don't beat as one.
    const beats = setInterval(beat, this.#heartbeatMs * (0.9 + Math.random() * 0.1));
    const watches = setInterval(watch, this.#stalledMs / stalledLooks);
    return () => {
      clearInterval(beats);
      clearInterval(watches);
      clearTimeout(pong);
    };
  }
}

function namesIn({ headers }: IncomingMessage): string[] {
  return (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}

/** The subprotocol that the upgrade is answered with: never one that carries a secret. */
function answeredName(names: Iterable<string>): string | undefined {
  const offered = [...names];
  const offer = parseOffer(offered);
  if (offer.kind === 'chosen') return offer.name;
  return offered.find((name) => !/^spawngate\.(bearer|ticket)\./.test(name));
}

function refuse(socket: Duplex, status: string, words: string): void {
  const head = ['Connection: close', 'Content-Type: text/plain', `Content-Length: ${words.length + 1}`];
  socket.end(`HTTP/1.1 ${status}\r\n${head.join('\r\n')}\r\n\r\n${words}\n`);
}
