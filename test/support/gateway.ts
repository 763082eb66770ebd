import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ClaudeVersion, claudeCommands } from './claude-home.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export type GatewayOptions = {
  /** What the agents' environment is taken from. */
  env: Record<string, string>;
  claude?: ClaudeVersion | string[];
  flags?: string[];
  /** In a process group of its own, which a terminal's Ctrl-C doesn't reach. */
  detached?: boolean;
};

/** The gateway as a process of its own, on a data directory that outlives it. */
export class GatewayProcess {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'spawngate-test-'));
  readonly work = mkdtempSync(join(tmpdir(), 'spawngate-work-'));
  readonly #options: GatewayOptions;
  #child: ChildProcess | undefined;
  #log = '';
  #url = '';

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /** Starts it, with a fault point if one is named, and resolves once it says that it's ready. */
  async start(fault?: string, flags: string[] = []): Promise<void> {
    const child = this.launch(fault, flags);
    const [line] = (await Promise.race([
      once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line'),
      once(child, 'exit').then(([code, signal]) => {
        throw new Error(`the gateway ended (${code ?? signal}) before it was ready: ${this.#log}`);
      }),
    ])) as [string];
    this.#url = (JSON.parse(line) as { url: string }).url;
  }

  /** Starts it without waiting. */
  launch(fault?: string, flags: string[] = []): ChildProcess {
    const { env, claude = '2.1.332', flags: always = [], detached = false } = this.#options;
    const command = typeof claude === 'string' ? claudeCommands[claude] : claude;
    const child = spawn(
      process.execPath,
      [
        main,
        'serve',
        ...['--places', '100'],
        ...['--port', '0', '--data', this.dataDir, '--root', this.work, '--claude', JSON.stringify(command)],
        ...always,
        ...flags,
      ],
      {
        env: { ...env, ...(fault && { SPAWNGATE_FAULT: fault }) },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached,
      },
    );
    child.stderr?.on('data', (data) => {
      this.#log = (this.#log + data).slice(-100_000);
    });
    this.#child = child;
    return child;
  }

  get url(): string {
    return this.#url;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get log(): string {
    return this.#log;
  }

  get token(): string {
    return readFileSync(join(this.dataDir, 'token'), 'utf8').trim();
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The signal that ended it. */
  get diedBy(): NodeJS.Signals | null {
    return this.#child?.signalCode ?? null;
  }

  /** Resolves once it has ended, by whatever cause. */
  async ended(): Promise<void> {
    if (this.#child && this.running) await once(this.#child, 'exit');
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal);
    await this.ended();
  }

  /** Ends all agents by cancelling nothing: tests end theirs; what is left is named in the error. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    for (let tries = 0; tries < 5; tries += 1) {
      try {
        rmSync(this.dataDir, { recursive: true, force: true });
        rmSync(this.work, { recursive: true, force: true });
        return;
      } catch {
        // A process that is just ending may still write there.
        await delay(50);
      }
    }
  }
}
