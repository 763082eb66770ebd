import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { findFamily, signalGroup, sweep } from './family.ts';
import type { OutputReader } from './output.ts';
import { type Identity, isAlive } from './processes.ts';
import type { Launch, PlacedBytes, Run, RunStatus, SpawnProblem } from './run.ts';
import { isDirectory, SpoolFolder } from './spool-folder.ts';
import { wrapperArgv } from './wrapper.ts';

/**
 * A run on POSIX: a detached wrapper between files in a folder, so that the gateway can die and be replaced at
 * any moment. The folder is the only state.
 */
export class SpooledRun implements Run {
  readonly #folder: SpoolFolder;
  readonly #marker: string;

  constructor(folder: string, marker: string) {
    this.#folder = new SpoolFolder(folder);
    this.#marker = marker;
  }

  read(from: number): OutputReader {
    return this.#folder.reader(from);
  }

  written(): number {
    return this.#folder.written();
  }

  write(lines: readonly PlacedBytes[]): void {
    this.#folder.write(lines);
  }

  start({ command, cwd, env }: Launch): void {
    if (this.#folder.identities()) return;
    if (!isDirectory(cwd)) return this.#folder.failToStart('cwd_missing', `no such directory: ${cwd}`);
    const [file, ...args] = wrapperArgv(this.#folder.path, command);
    const child: ChildProcess = spawn(file, args, { cwd, env, detached: true, stdio: 'ignore' });
    child.on('error', (error) => this.#folder.failToStart('spawn_failed', error.message));
    child.unref();
  }

  failToStart(problem: SpawnProblem, words: string): void {
    this.#folder.failToStart(problem, words);
  }

  status(): RunStatus {
    const exit = this.#folder.exit();
    if (exit) return { is: 'ended', end: exit };
    const identities = this.#folder.identities();
    if (!identities) return { is: 'unclaimed' };
    if (identities.some(isAlive)) return { is: 'alive' };
    // It may have been written between the two looks.
    return { is: 'ended', end: this.#folder.exit() ?? {} };
  }

  stderrTail(): string[] {
    return this.#folder.stderrTail();
  }

  async end(graceMs: number): Promise<void> {
    this.#folder.claim();
    const identities = this.#folder.identities() ?? [];
    const known = findFamily(this.#marker, identities);
    const wrapper = identities[0];
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await this.#gone(identities, graceMs)) break;
      if (wrapper) signalGroup(wrapper, signal);
    }
    await sweep({ marker: this.#marker, known });
  }

  async #gone(identities: Identity[], withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    while (identities.some(isAlive)) {
      if (performance.now() >= deadline) return false;
      await delay(20);
    }
    return true;
  }

  watch(changed: () => void): Disposable {
    return this.#folder.watch(changed);
  }

  remove(): void {
    this.#folder.remove();
  }
}
