import { mkdirSync, readFileSync, statfsSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { type Logger, pino } from 'pino';
import { Agents } from './agents/agents.ts';
import type { Identity } from './agents/draft.ts';
import { modeOf } from './agents/modes.ts';
import { Places } from './agents/places.ts';
import type { Ports } from './agents/ports.ts';
import type { AgentRecord } from './agents/record.ts';
import { instructions } from './agents/task.ts';
import { claudeVersion, findClaude, spawnArguments } from './claude/command.ts';
import { agentEnvironment } from './claude/environment.ts';
import { PipedRun } from './claude/piped-run.ts';
import type { Launch } from './claude/run.ts';
import { SpooledRun } from './claude/spooled-run.ts';
import type { Config } from './config.ts';
import { armFault } from './fault.ts';
import { Head } from './feed/head.ts';
import { httpApp } from './http/app.ts';
import { Doorkeeper } from './http/doorkeeper.ts';
import { Tickets } from './http/tickets.ts';
import { openTokens } from './http/tokens.ts';
import { lockDataDirectory } from './journal/lock.ts';
import { SqliteJournal } from './journal/sqlite.ts';
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
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one list of all that there is, in the order it is built
export async function startGateway(config: Config, log: Logger = defaultLog(config)): Promise<Gateway> {
  if (config.fault) armFault(config.fault);
  const lock = lockDataDirectory(config.data);
  mkdirSync(config.cases, { recursive: true, mode: 0o700 });
  const tokens = openTokens(config.data);
  for (const warning of tokens.warnings) log.warn(warning);
  const journal = new SqliteJournal(join(config.data, 'journal.db'), { sync: config.sync });

  const claude = findClaude({ configured: config.claude, env: config.agentEnvironment });
  let found: string | null = null;
  const ports: Ports = {
    journal,
    log,
    freeBytes: freeBytesOf(config.data),
    now: Date.now,
    openRun: (run, marker) => new RunHere(join(config.data, 'spools', `${run.agent}.${run.run}`), marker),
    launch: (agent, record, marker) => launch(config, claude.command, { agent, record, marker }),
    places: new Places(config.places),
    publish: (tree, events) => head.publish(tree, events),
    isWatched: (agent) => head.isWatched(agent),
  };
  const agents = new Agents(ports, {
    roots: config.root,
    cases: config.cases,
    allowBypass: config.allowBypass,
    allowSkipPermissions: config.allowSkipPermissions,
  });
  const head = new Head(
    journal,
    (tree) => agents.liveText(tree),
    (feed) => agents.followed((tree, owner) => feed.takes(tree, owner)),
  );
  await agents.restart();

  let port = config.port;
  const tickets = new Tickets(tokens);
  const doorkeeper = new Doorkeeper({
    tokens,
    tickets,
    host: config.host,
    port: () => port,
    allowOrigin: config.allowOrigin,
  });
  const sockets = new Sockets({
    world: { journal, head, agents, now: Date.now },
    doorkeeper,
    log,
    version,
    claudeVersion: () => found,
  });
  const app = httpApp({ doorkeeper, tickets, health: { problem: () => journal.problem } });
  const server = await listen(app, config);
  port = (server.address() as AddressInfo).port;
  sockets.attach(server);
  void learnVersion();

  async function learnVersion(): Promise<void> {
    const asked = await claudeVersion(
      claude.command,
      agentEnvironment({ ...config, from: config.agentEnvironment, run: 'version' }),
    );
    if ('version' in asked) found = asked.version;
    else log.warn({ problem: asked.problem }, `Claude Code can't be run: ${asked.detail}`);
  }

  return {
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
    port,
    tokenFile: tokens.file,
    async stop() {
      sockets.close(1001);
      server.close();
      await agents.stop();
      journal.close();
      lock[Symbol.dispose]();
    },
  };
}

function launch(
  config: Config,
  command: readonly string[],
  { agent, record, marker }: { agent: Identity; record: AgentRecord; marker: string },
): Launch {
  const { task } = agent;
  const appendSystemPrompt = instructions(task);
  const args = spawnArguments({
    session: record.session,
    resume: record.shown.resumed,
    model: record.settings.model ?? task.model,
    permissionMode: modeOf({ agent, record }),
    allowedTools: [...(task.allowedTools ?? []), ...record.rules],
    disallowedTools: task.disallowedTools,
    appendSystemPrompt,
  });
  return {
    command: [...command, ...args],
    cwd: task.cwd,
    env: agentEnvironment({
      from: config.agentEnvironment,
      passEnv: config.passEnv,
      run: marker,
      ...(task.env && { task: task.env }),
    }),
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
