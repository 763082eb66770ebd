import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Doorkeeper } from '../../src/http/doorkeeper.ts';
import { Tickets } from '../../src/http/tickets.ts';
import { openTokens, type Tokens } from '../../src/http/tokens.ts';
import type { Journal } from '../../src/journal/journal.ts';
import type { Encoding } from '../../src/protocol/codec.ts';
import type { World } from '../../src/sockets/methods.ts';
import { Sockets, type SocketsOptions } from '../../src/sockets/sockets.ts';
import { FeedStage } from '../feed/stage.ts';
import { Tree } from '../feed/tree.ts';
import { TestClient } from '../support/client.ts';

type Options = Partial<Pick<SocketsOptions, 'heartbeatMs' | 'pongMs' | 'stalledMs'>> & {
  trees?: Tree[];
  /** The journal as the feeds see it. */
  reading?: (journal: Journal) => Journal;
  world?: Partial<World>;
  /** The clock of tickets and cookies. */
  now?: () => number;
};

/** Sockets over a journal and its head, in this process: for what a client can't make a whole gateway do. No agents. */
export class SocketStage implements AsyncDisposable {
  readonly feeds: FeedStage;
  readonly tokens: Tokens;
  readonly tickets: Tickets;
  readonly logged: string[] = [];
  /** The gateway's ends of the connections. */
  readonly peers: Socket[] = [];
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Sockets;
  readonly #clients: TestClient[] = [];

  private constructor(feeds: FeedStage, server: Server, { world, now, ...times }: Options) {
    this.feeds = feeds;
    this.#server = server;
    this.tokens = openTokens(feeds.folder);
    this.tickets = new Tickets(this.tokens, now);
    const { port } = server.address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}`;
    const log = (figures: object, message: string) => {
      this.logged.push(`${message} ${JSON.stringify(figures)}`);
    };
    const { journal, head } = feeds;
    this.#sockets = new Sockets({
      world: { journal, head, agents: {} as never, now: Date.now, ...world },
      doorkeeper: new Doorkeeper({
        ...{ tokens: this.tokens, tickets: this.tickets },
        ...{ host: '127.0.0.1', port: () => port, allowOrigin: [] },
      }),
      log: { info: log, warn: log, error: log },
      version: '0.0.0',
      claudeVersion: () => null,
      ...times,
    });
    server.on('connection', (peer) => this.peers.push(peer));
    this.#sockets.attach(server);
  }

  static async open(options: Options = {}): Promise<SocketStage> {
    const { trees = [new Tree('a')], reading, ...rest } = options;
    const feeds = await new FeedStage(trees, reading).found();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new SocketStage(feeds, server, rest);
  }

  get tree(): Tree {
    return this.feeds.trees[0] as Tree;
  }

  /** A fact of so many units and some text, committed and published. */
  write(size = 10): Promise<void> {
    return this.feeds.write(this.tree, [
      { kind: 'text', size: 10 },
      { kind: 'note', size },
    ]);
  }

  async connect(encoding?: Encoding): Promise<TestClient> {
    const client = await TestClient.connect(this.url, this.tokens.token, encoding);
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    this.#sockets.close(1001);
    this.#server.close();
    for (const peer of this.peers) peer.destroy();
    this.feeds[Symbol.dispose]();
  }
}
