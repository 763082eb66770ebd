import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Identity, parsePidFile } from '../../src/claude/processes.ts';
import type { Encoding } from '../../src/protocol/codec.ts';
import type { Params } from '../../src/protocol/methods.ts';
import { makeClaudeEnv } from './claude-home.ts';
import { TestClient } from './client.ts';
import { type GatewayOptions, GatewayProcess } from './gateway.ts';
import { startModelApi } from './model-api.ts';
import { type Step, script } from './model-script.ts';

type StageOptions = Omit<GatewayOptions, 'env'> & {
  /** Variables over those of a fresh home; undefined takes one out. */
  env?: Record<string, string | undefined>;
};

/** Those that are open. A test that runs out of time never gets to its own clean-up. */
export const stages = new Set<Stage>();

/** A scripted model, a home for the CLI, and a gateway that is up. Disposing ends whatever they have started. */
export class Stage {
  readonly model: Awaited<ReturnType<typeof startModelApi>>;
  readonly home: string;
  readonly gateway: GatewayProcess;
  readonly #owned: AsyncDisposableStack;
  readonly #clients: TestClient[] = [];

  private constructor(
    model: Stage['model'],
    home: string,
    gateway: GatewayProcess,
    owned: AsyncDisposableStack,
  ) {
    this.model = model;
    this.home = home;
    this.gateway = gateway;
    this.#owned = owned;
  }

  static async open({ env: changed = {}, ...options }: StageOptions = {}): Promise<Stage> {
    await using stack = new AsyncDisposableStack();
    const model = stack.use(await startModelApi());
    const { home, env } = stack.use(await makeClaudeEnv({ modelUrl: model.url }));
    const entries = Object.entries({ ...env, ...changed });
    const given = entries.filter((entry): entry is [string, string] => entry[1] !== undefined);
    const gateway = stack.use(new GatewayProcess({ ...options, env: Object.fromEntries(given) }));
    await gateway.start();
    const stage = new Stage(model, home, gateway, stack.move());
    stages.add(stage);
    return stage;
  }

  async connect(encoding?: Encoding): Promise<TestClient> {
    const client = await TestClient.connect(this.gateway.url, this.gateway.token, encoding);
    this.#clients.push(client);
    return client;
  }

  /** A client that has started a task for these steps, and follows it. */
  async start(steps: Step[], { name, ...params }: Omit<Params<'task.start'>, 'prompt'> = {}) {
    const client = await this.connect();
    const prompt = script(steps, name === undefined ? {} : { name });
    const started = await client.call('task.start', {
      cwd: this.gateway.work,
      subscribe: true,
      ...(name !== undefined && { name }),
      ...params,
      prompt,
    });
    return { client, agent: started.agent };
  }

  spool(agent: string, run: number): string {
    return join(this.gateway.dataDir, 'spools', `${agent}.${run}`);
  }

  /** The wrapper and the CLI of a run, once both are known. */
  processesOf(agent: string, run = 1): Promise<[Identity, Identity]> {
    return until(() => {
      const ids = parsePidFile(textOf(join(this.spool(agent, run), 'pid')));
      return ids.length === 2 && (ids as [Identity, Identity]);
    });
  }

  /** Processes of this stage's agents that live: they carry a marker and this home, or work in its folder. */
  processes(): number[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.filter((pid) => this.#isOurs(pid)).map(Number);
  }

  #isOurs(pid: string): boolean {
    const cwd = linkOf(`/proc/${pid}/cwd`);
    if (cwd === this.gateway.work) return true;
    const environment = textOf(`/proc/${pid}/environ`).split('\0');
    const isMarked = environment.some((entry) => entry.startsWith('SPAWNGATE_RUN='));
    return isMarked && environment.includes(`HOME=${this.home}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    stages.delete(this);
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.gateway.kill();
    for (let pids = this.processes(); pids.length > 0; pids = this.processes()) {
      for (const pid of pids) kill(pid);
      await delay(10);
    }
    await this.#owned.disposeAsync();
  }
}

/** Looks until there is something to see, for what no socket tells; the test's own time is the limit. */
export async function until<T>(
  look: () => T | Promise<T>,
): Promise<Exclude<T, false | undefined | null | 0>> {
  for (;;) {
    const seen = await look();
    if (seen) return seen as Exclude<T, false | undefined | null | 0>;
    await delay(5);
  }
}

/**
 * Allows what an agent asks after that fact, up to its end. A CLI that was killed may ask again or not: it depends on
 * how much of its session had reached the disk.
 */
export async function allowToTheEnd(client: TestClient, agent: string, after: number): Promise<void> {
  for (let seen = after; ; ) {
    const next = await client.until(() => {
      const later = client.facts.filter((fact) => fact.agent === agent && fact.seq > seen);
      return later.find((fact) => fact.type === 'permission.requested' || fact.type === 'agent.result');
    });
    if (next.type !== 'permission.requested') return;
    seen = next.seq;
    const { permission } = next.data;
    await client.call('permission.answer', { permission, behavior: 'allow' });
  }
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Empty while it isn't there. */
export function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
