import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Stage } from '../support/stage.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** `spawngate …` as a process, talking to the gateway of a stage. What it prints is kept, and can be waited for. */
export class CommandLine {
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;
  readonly #status: Promise<number | null>;
  #wake = Promise.withResolvers<void>();
  #ended = false;

  constructor({ gateway, home }: Stage, argv: string[], env: Record<string, string> = {}) {
    this.#child = spawn(process.execPath, [main, ...argv], {
      cwd: gateway.work,
      env: {
        ...{ PATH: process.env.PATH ?? '', HOME: home, TZ: 'UTC' },
        ...{ SPAWNGATE_URL: gateway.url, SPAWNGATE_DATA: gateway.dataDir },
        ...env,
      },
    });
    this.#child.stdout?.on('data', (data) => this.#notice(() => (this.stdout += data)));
    this.#child.stderr?.on('data', (data) => this.#notice(() => (this.stderr += data)));
    this.#child.stdin?.on('error', () => {});
    this.#status = once(this.#child, 'close').then(([status]) => {
      this.#notice(() => (this.#ended = true));
      return status;
    });
  }

  /** Its exit status, once it has ended. */
  get status(): Promise<number | null> {
    return this.#status;
  }

  /** What it printed, a JSON value a line. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as deep as they need
  get values(): any[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  type(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** As with Ctrl-D. */
  hangUp(): this {
    this.#child.stdin?.end();
    return this;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async until<T>(look: (self: this) => T | undefined | null | false): Promise<T> {
    for (;;) {
      const found = look(this);
      if (found) return found;
      if (this.#ended) throw new Error(`it ended first\n${this.stdout}\n${this.stderr}`);
      await this.#wake.promise;
    }
  }

  /** Waits for words on stderr. */
  async said(words: string | RegExp): Promise<RegExpMatchArray> {
    return this.until(({ stderr }) => stderr.match(words));
  }

  #notice(happening: () => void): void {
    happening();
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}

/** Runs it to its end. */
export async function spawngate(stage: Stage, argv: string[], env: Record<string, string> = {}) {
  const command = new CommandLine(stage, argv, env).hangUp();
  const status = await command.status;
  return { status, stdout: command.stdout, stderr: command.stderr, values: () => command.values };
}
