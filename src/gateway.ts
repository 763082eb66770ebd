import { mkdirSync, readFileSync, statfsSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { type Logger, pino } from 'pino';
import { Agents } from './agents/agents.ts';
import { launcher } from './agents/launch.ts';
import { Places } from './agents/places.ts';
import type { Ports } from './agents/ports.ts';
import { type ClaudeCommand, claudeVersion, findClaude } from './claude/command.ts';
import { agentEnvironment } from './claude/environment.ts';
import { PipedRun } from './claude/piped-run.ts';
import { SpooledRun } from './claude/spooled-run.ts';
import type { Config } from './config.ts';
import { armFault } from './fault.ts';
import { Head } from './feed/head.ts';
import { httpApp } from './http/app.ts';
import { Doorkeeper } from './http/doorkeeper.ts';
import { Tickets } from './http/tickets.ts';
import { openTokens, type Tokens } from './http/tokens.ts';
import type { Journal } from './journal/journal.ts';
import { lockDataDirectory } from './journal/lock.ts';
import { SqliteJournal } from './journal/sqlite.ts';
import type { World } from './sockets/methods.ts';
import { Sockets } from './sockets/sockets.ts';

/** A running gateway. */
export type Gateway = {
  url: string;
  port: number;
  tokenFile: string;
  /** Stops serving; agents work on and are found again at the next start. */
  stop(): Promise<void>;
};

export const version: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;

/** Windows has no shell that could keep a run apart from the gateway. */
const RunHere = process.platform === 'win32' ? PipedRun : SpooledRun;

/** Builds all of it from the configuration: lock, journal, agents, doors; and serves once every spool is read. */
export async function startGateway(config: Config, log: Logger = defaultLog(config)): Promise<Gateway> {
  if (config.fault) armFault(config.fault);
  const lock = lockDataDirectory(config.data);
  mkdirSync(config.cases, { recursive: true, mode: 0o700 });
  const tokens = openTokens(config.data);
  for (const warning of tokens.warnings) log.warn(warning);
  const journal = new SqliteJournal(join(config.data, 'journal.db'), { sync: config.sync });
  const claude = findClaude({ configured: config.claude, env: config.agentEnvironment });
  const { agents, head } = agentsOf(config, claude.command, { journal, log });
  await agents.restart();
  const world = { journal, head, agents, now: Date.now };
  const doors = await openDoors(config, { world, tokens, log, claude });
  return {
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${doors.port}`,
    port: doors.port,
    tokenFile: tokens.file,
    async stop() {
      doors.close();
      await agents.stop();
      journal.close();
      lock[Symbol.dispose]();
    },
  };
}

/** The agents and the head that they publish to: each needs the other. */
function agentsOf(
  config: Config,
  command: readonly string[],
  { journal, log }: { journal: Journal; log: Logger },
) {
  const ports: Ports = {
    journal,
    log,
    places: new Places(config.places),
    freeBytes: freeBytesOf(config.data),
    now: Date.now,
    openRun: (run, marker) => new RunHere(join(config.data, 'spools', `${run.agent}.${run.run}`), marker),
    launch: launcher({ ...config, command }),
    publish: (tree, events) => head.publish(tree, events),
    isWatched: (agent) => head.isWatched(agent),
  };
  const agents = new Agents(ports, { ...config, roots: config.root });
  const head = new Head(
    journal,
    (tree) => agents.liveText(tree),
    (feed) => agents.followed((tree, owner) => feed.takes(tree, owner)),
  );
  return { agents, head };
}

type Inside = { world: World; tokens: Tokens; log: Logger; claude: ClaudeCommand };

/** Everything that listens. */
async function openDoors(config: Config, { world, tokens, log, claude }: Inside) {
  let { port } = config;
  let claudeFound: string | null = null;
  const tickets = new Tickets(tokens);
  const { host, allowOrigin } = config;
  const doorkeeper = new Doorkeeper({ tokens, tickets, host, port: () => port, allowOrigin });
  const sockets = new Sockets({ world, doorkeeper, log, version, claudeVersion: () => claudeFound });
  const app = httpApp({ doorkeeper, tickets, health: { problem: () => world.journal.problem } });
  const server = await listen(app, config);
  port = (server.address() as AddressInfo).port;
  sockets.attach(server);
  const env = agentEnvironment({ ...config, from: config.agentEnvironment, run: 'version' });
  void claudeVersion(claude.command, env).then((asked) => {
    if ('version' in asked) claudeFound = asked.version;
    else log.warn({ problem: asked.problem }, `Claude Code can't be run: ${asked.detail}`);
  });
  return {
    port,
    close() {
      sockets.close(1001);
      server.close();
    },
  };
}

/** Looked at once in a while only, as every agent asks at every turn of the clock. */
function freeBytesOf(folder: string): () => number {
  let seen = { bytes: 0, at: Number.NEGATIVE_INFINITY };
  return () => {
    if (performance.now() - seen.at > 2_000) {
      const { bavail, bsize } = statfsSync(folder);
      seen = { bytes: bavail * bsize, at: performance.now() };
    }
    return seen.bytes;
  };
}

function listen(app: ReturnType<typeof httpApp>, { host, port }: Config): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname: host, port }, () => resolve(server as Server));
    server.on('error', reject);
  });
}

/** To stderr: stdout belongs to the line that says where the gateway is. */
function defaultLog(config: Config): Logger {
  return pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true }));
}
