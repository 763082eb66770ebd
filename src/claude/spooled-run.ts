import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { aboutToFail, faultPoint } from '../fault.ts';
import { findFamily, signalGroup, sweep } from './family.ts';
import { OutputReader } from './output.ts';
import { type Identity, isAlive, parsePidFile } from './processes.ts';
import type { Launch, PlacedBytes, Run, RunEnd, RunStatus, SpawnProblem } from './run.ts';
import { wrapperArgv } from './wrapper.ts';

/**
 * A run on POSIX: a detached wrapper between files in a folder, so that the gateway can die and be replaced at
 * any moment. The folder is the only state.
 */
export class SpooledRun implements Run {
  readonly #folder: string;
  readonly #marker: string;

  constructor(folder: string, marker: string) {
    this.#folder = folder;
    this.#marker = marker;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of ['in.ndjson', 'out.ndjson', 'err.log'])
      closeSync(openSync(this.#file(name), 'a', 0o600));
  }

  #file(name: string): string {
    return join(this.#folder, name);
  }

  read(from: number): OutputReader {
    return new OutputReader(this.#file('out.ndjson'), from);
  }

  written(): number {
    return statSync(this.#file('in.ndjson')).size;
  }

  write(lines: readonly PlacedBytes[]): void {
    const fd = openSync(this.#file('in.ndjson'), 'r+');
    try {
      for (const line of lines) {
        const size = fstatSync(fd).size;
        if (size >= line.to) continue;
        const missing = line.bytes.subarray(size - line.from);
        if (aboutToFail('half-input')) writeAll(fd, missing.subarray(0, missing.length >> 1), size);
        faultPoint('half-input');
        writeAll(fd, missing, size);
      }
    } finally {
      closeSync(fd);
    }
  }

  start({ command, cwd, env }: Launch): void {
    if (existsSync(this.#file('pid'))) return;
    if (!isDirectory(cwd)) return this.#failToStart('cwd_missing', `no such directory: ${cwd}`);
    const [file, ...args] = wrapperArgv(this.#folder, command);
    const child: ChildProcess = spawn(file, args, { cwd, env, detached: true, stdio: 'ignore' });
    child.on('error', (error) => this.#failToStart('spawn_failed', error.message));
    child.unref();
  }

  #failToStart(problem: SpawnProblem, words: string): void {
    if (!this.#claim()) return;
    writeFileSync(this.#file('err.log'), `spawngate: ${words}\n`, { flag: 'a' });
    writeFileSync(this.#file('exit.tmp'), `${problem}\n`);
    renameSync(this.#file('exit.tmp'), this.#file('exit'));
  }

  /** Takes the start for ourselves, so that no wrapper that is still on its way can run. */
  #claim(): boolean {
    const own = this.#file(`pid.gateway.${process.pid}`);
    writeFileSync(own, '');
    try {
      linkSync(own, this.#file('pid'));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(own, { force: true });
    }
  }

  #identities(): Identity[] | undefined {
    const text = readIfThere(this.#file('pid'));
    return text === undefined ? undefined : parsePidFile(text);
  }

  status(): RunStatus {
    const exit = this.#exit();
    if (exit) return { is: 'ended', end: exit };
    const identities = this.#identities();
    if (!identities) return { is: 'unclaimed' };
    if (identities.some(isAlive)) return { is: 'alive' };
    // It may have been written between the two looks.
    return { is: 'ended', end: this.#exit() ?? {} };
  }

  #exit(): RunEnd | undefined {
    const text = readIfThere(this.#file('exit'))?.trim();
    if (text === undefined) return undefined;
    return /^\d+$/.test(text) ? { code: Number(text) } : { problem: text as SpawnProblem };
  }

  stderrTail(): string[] {
    const fd = openSync(this.#file('err.log'), 'r');
    try {
      const { size } = fstatSync(fd);
      const bytes = Buffer.alloc(Math.min(size, 16_384));
      readSync(fd, bytes, 0, bytes.length, size - bytes.length);
      const lines = bytes
        .toString('utf8')
        .split('\n')
        .filter((line) => line.trim() !== '');
      return lines.slice(-20).map((line) => line.slice(0, 2_000));
    } finally {
      closeSync(fd);
    }
  }

  async end(graceMs: number): Promise<void> {
    this.#claim();
    const identities = this.#identities() ?? [];
    const known = findFamily(this.#marker, identities);
    const wrapper = identities[0];
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await this.#gone(identities, graceMs)) break;
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

  watch(changed: () => void): Disposable {
    // Both, as inotify may be used up (ENOSPC, EMFILE) and other systems merge events.
    const timer = setInterval(changed, 200);
    let watcher: { close(): void } | undefined;
    try {
      watcher = watch(this.#folder, { persistent: false }, changed).on('error', () => watcher?.close());
    } catch {
      watcher = undefined;
    }
    return {
      [Symbol.dispose]() {
        clearInterval(timer);
        watcher?.close();
      },
    };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
