import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { findFamily, signalGroup, sweep } from './family.ts';
import { type Identity, isAlive } from './processes.ts';
import type { Launch, Run, RunStatus } from './run.ts';
import { isDirectory, SpoolFolder } from './spool-folder.ts';
import { wrapperArgv } from './wrapper.ts';

/**
 * A run on POSIX: a detached wrapper between files in a folder, so that the gateway can die and be replaced at
 * any moment. The folder is the only state.
 */
export class SpooledRun extends SpoolFolder implements Run {
  readonly #marker: string;

  constructor(folder: string, marker: string) {
    super(folder);
    this.#marker = marker;
  }

  start({ command, cwd, env }: Launch): void {
    if (this.identities()) return;
    if (!isDirectory(cwd)) return this.failToStart('cwd_missing', `no such directory: ${cwd}`);
    const [file, ...args] = wrapperArgv(this.path, command);
    const child: ChildProcess = spawn(file, args, { cwd, env, detached: true, stdio: 'ignore' });
    child.on('error', (error) => this.failToStart('spawn_failed', error.message));
    child.unref();
  }

  status(): RunStatus {
    const exit = this.exit();
    if (exit) return { is: 'ended', end: exit };
    const identities = this.identities();
    if (!identities) return { is: 'unclaimed' };
    if (identities.some(isAlive)) return { is: 'alive' };
    // It may have been written between the two looks.
    return { is: 'ended', end: this.exit() ?? {} };
  }

  async end(graceMs: number): Promise<void> {
    this.claim();
    const identities = this.identities() ?? [];
    const known = findFamily(this.#marker, identities);
    const wrapper = identities[0];
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await this.#gone(identities, graceMs)) break;
      // The CLI may have outlived its wrapper.
      if (wrapper) signalGroup(wrapper, signal, identities);
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
}
