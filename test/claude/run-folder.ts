import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder in which all processes of a test work, so that they are told from others, and ended with it. */
export class RunFolder {
  readonly path = mkdtempSync(join(tmpdir(), "a run's folder "));
  readonly marker = `test-${crypto.randomUUID()}`;

  file(name: string): string {
    return join(this.path, name);
  }

  read(name: string): string {
    try {
      return readFileSync(this.file(name), 'utf8');
    } catch {
      return ''; // not there yet
    }
  }

  append(name: string, text: string | Uint8Array): void {
    appendFileSync(this.file(name), text);
  }

  spawn(
    argv: [string, ...string[]],
    options: { env?: Record<string, string>; detached?: boolean } = {},
  ): ChildProcess {
    const [file, ...args] = argv;
    const env = options.env ?? { SPAWNGATE_RUN: this.marker };
    const detached = options.detached ?? true;
    const child = spawn(file, args, { cwd: this.path, env: { PATH, ...env }, detached, stdio: 'ignore' });
    child.unref();
    return child;
  }

  /** What works here and has not ended: a zombie has no working directory. */
  inhabitants(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && linkOf(`/proc/${name}/cwd`) === this.path)
      .map(Number);
  }

  /** Their names, sorted. */
  names(): string {
    const names = this.inhabitants().map((pid) => nameOf(pid));
    return names.sort().join(' ');
  }

  [Symbol.dispose](): void {
    for (let pids = this.inhabitants(); pids.length > 0; pids = this.inhabitants()) pids.forEach(end);
    rmSync(this.path, { recursive: true });
  }
}

const PATH = process.env.PATH ?? '';

/** Looks until there is something to see. It gives up before the test's own time is over, so that the test cleans up. */
export async function until<T>(look: () => T): Promise<T> {
  const deadline = performance.now() + 4_000;
  for (;;) {
    const seen = look();
    if (seen) return seen;
    if (performance.now() > deadline) throw new Error(`never came true: ${look}`);
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
}

export async function exitOf(child: ChildProcess): Promise<number | null> {
  await until(() => child.exitCode !== null || child.signalCode !== null);
  return child.exitCode;
}

export function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}

export function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
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
