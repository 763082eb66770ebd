import {
  closeSync,
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
import { aboutToFail, faultPoint } from '../fault.ts';
import { OutputReader } from './output.ts';
import { type Identity, parsePidFile } from './processes.ts';
import type { PlacedBytes, RunEnd, SpawnProblem } from './run.ts';

/**
 * The files through which the gateway and one run talk: `in.ndjson`, `out.ndjson` and `err.log` are the CLI's stdio,
 * `pid` says who has claimed the run, `exit` how it ended. They are all that a run is after a restart, so a run is such
 * a folder with a process behind it.
 */
export class SpoolFolder {
  readonly path: string;

  /** Makes it, if it isn't there. */
  constructor(path: string) {
    this.path = path;
    mkdirSync(path, { recursive: true, mode: 0o700 });
    for (const name of ['in.ndjson', 'out.ndjson', 'err.log'])
      closeSync(openSync(this.file(name), 'a', 0o600));
  }

  file(name: string): string {
    return join(this.path, name);
  }

  read(from: number): OutputReader {
    return new OutputReader(this.file('out.ndjson'), from);
  }

  written(): number {
    return statSync(this.file('in.ndjson')).size;
  }

  write(lines: readonly PlacedBytes[]): void {
    const fd = openSync(this.file('in.ndjson'), 'r+');
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

  /** Takes the start for ourselves, unless somebody has: no wrapper that is still on its way can run then. */
  claim(identities = ''): boolean {
    const own = this.file(`pid.gateway.${process.pid}`);
    writeFileSync(own, identities);
    try {
      linkSync(own, this.file('pid'));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      return this.#claimPlainly(identities);
    } finally {
      rmSync(own, { force: true });
    }
  }

  /** Where there are no hard links no wrapper can claim either, so whoever looks in between is only us. */
  #claimPlainly(identities: string): boolean {
    try {
      writeFileSync(this.file('pid'), identities, { flag: 'wx' });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }

  /** Undefined as long as nobody has claimed it. */
  identities(): Identity[] | undefined {
    const text = readIfThere(this.file('pid'));
    return text === undefined ? undefined : parsePidFile(text);
  }

  exit(): RunEnd | undefined {
    const text = readIfThere(this.file('exit'))?.trim();
    if (text === undefined) return undefined;
    return /^\d+$/.test(text) ? { code: Number(text) } : { problem: text as SpawnProblem };
  }

  recordExit({ code, problem }: RunEnd): void {
    writeFileSync(this.file('exit.tmp'), `${code ?? problem}\n`);
    renameSync(this.file('exit.tmp'), this.file('exit'));
  }

  /** Claims it for a start that came to nothing, with the words that tell why. */
  failToStart(problem: SpawnProblem, words: string): void {
    if (!this.claim()) return;
    this.complain(words);
    this.recordExit({ problem });
  }

  /** Our own words, where the CLI's would stand. */
  complain(words: string): void {
    this.append('err.log', `spawngate: ${words}\n`);
  }

  append(name: string, text: string): void {
    writeFileSync(this.file(name), text, { flag: 'a' });
  }

  stderrTail(): string[] {
    const fd = openSync(this.file('err.log'), 'r');
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

  watch(changed: () => void): Disposable {
    // Both, as inotify may be used up (ENOSPC, EMFILE) and other systems merge events.
    const timer = setInterval(changed, 200);
    let watcher: { close(): void } | undefined;
    try {
      watcher = watch(this.path, { persistent: false }, changed).on('error', () => watcher?.close());
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
    rmSync(this.path, { recursive: true, force: true });
  }
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
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
