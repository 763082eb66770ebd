import { closeSync, openSync, readSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import { findFamily, sweep } from './family.ts';
import { findProcess, type Identity, keyOf } from './processes.ts';
import type { Launch, PlacedBytes, Run, RunEnd, RunStatus } from './run.ts';
import { isDirectory, SpoolFolder } from './spool-folder.ts';

type Cli = ReturnType<typeof spawnCli>;

/** A process of ours: how much of `in.ndjson` its pipe was given, and when it is over. */
type Piped = { cli: Cli; piped: number; over: Promise<unknown> };

/** By folder, as an agent that is rebuilt takes up its run anew. What isn't here is of an earlier gateway. */
const ours = new Map<string, Piped>();

const onWindows = process.platform === 'win32';
const chunkBytes = 64 * 1024;

/**
 * A run where there is no POSIX shell: the CLI is a child of the gateway with a pipe for its stdin, and ends with it.
 * Its output goes straight into the files, which are the same as those of a spooled run. A run of an earlier gateway
 * counts as ended, so that its agent resumes.
 */
export class PipedRun extends SpoolFolder implements Run {
  readonly #marker: string;

  constructor(folder: string, marker: string) {
    super(folder);
    this.#marker = marker;
  }

  get #ours(): Piped | undefined {
    return ours.get(this.path);
  }

  override write(lines: readonly PlacedBytes[]): void {
    super.write(lines);
    this.#pipe();
  }

  /** Hands on what was written since the last time. */
  #pipe(): void {
    const run = this.#ours;
    if (!run?.cli.stdin.writable) return;
    const fd = openSync(this.file('in.ndjson'), 'r');
    try {
      for (;;) {
        const chunk = Buffer.alloc(chunkBytes);
        const length = readSync(fd, chunk, 0, chunkBytes, run.piped);
        if (length === 0) return;
        run.piped += length;
        run.cli.stdin.write(chunk.subarray(0, length));
      }
    } finally {
      closeSync(fd);
    }
  }

  start(launch: Launch): void {
    const { cwd } = launch;
    if (!isDirectory(cwd)) return this.failToStart('cwd_missing', `no such directory: ${cwd}`);
    if (!this.claim(lineOf(process.pid))) return;
    const output = ['out.ndjson', 'err.log'].map((name) => openSync(this.file(name), 'a'));
    const cli = spawnCli(launch, output);
    for (const fd of output) closeSync(fd);
    if (cli.pid !== undefined) this.append('pid', lineOf(cli.pid));
    // A pipe to a process that has gone: its end tells all there is to tell.
    cli.stdin.on('error', () => {});
    const over = cli.then((result) => this.#ended(result));
    ours.set(this.path, { cli, piped: 0, over });
    this.#pipe();
  }

  #ended(result: Awaited<Cli>): void {
    ours.delete(this.path);
    try {
      if (result.exitCode === undefined && !result.signal)
        this.complain(result.originalMessage ?? 'no process');
      this.recordExit(endOf(result));
    } catch {
      // The disk is full or the folder gone: an end without a record is an end all the same.
    }
  }

  status(): RunStatus {
    const exit = this.exit();
    if (exit) return { is: 'ended', end: exit };
    if (this.#ours) return { is: 'alive' };
    return this.identities() ? { is: 'ended', end: {} } : { is: 'unclaimed' };
  }

  async end(graceMs: number): Promise<void> {
    this.claim();
    const run = this.#ours;
    const known = this.#family();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (!run || (await isOver(run, graceMs))) break;
      await kill(run.cli, signal);
    }
    if (run) await isOver(run, graceMs);
    if (!onWindows) await sweep({ marker: this.#marker, known });
  }

  /** The gateway's own line in `pid` is no part of it. */
  #family(): Identity[] {
    if (onWindows) return [];
    return findFamily(this.#marker, (this.identities() ?? []).slice(1));
  }
}

/** `execa`, as it knows the .cmd files by which Windows starts a CLI of npm. */
function spawnCli({ command: [file = '', ...args], cwd, env }: Launch, output: number[]) {
  // Its types know only the first ten descriptors.
  const [stdout, stderr] = output as [3, 4];
  return execa(file, args, {
    ...{ cwd, env, extendEnv: false, windowsHide: true },
    ...{ buffer: false, reject: false },
    stdin: 'pipe',
    stdout,
    stderr,
  });
}

/** Windows has no start times that cost nothing to ask for, so there a line is proof of nothing. */
function lineOf(pid: number): string {
  const identity = onWindows ? undefined : findProcess(pid)?.identity;
  return `${keyOf(identity ?? { pid, start: '-', boot: '-' })}\n`;
}

/** As a shell would say it. */
function endOf({ exitCode, signal, code }: Awaited<Cli>): RunEnd {
  if (exitCode !== undefined) return { code: exitCode };
  if (signal) return { code: 128 + constants.signals[signal as NodeJS.Signals] };
  if (code === 'ENOENT') return { code: 127 };
  return code === 'EACCES' ? { code: 126 } : { problem: 'spawn_failed' };
}

async function isOver({ over }: Piped, withinMs: number): Promise<boolean> {
  return Promise.race([over.then(() => true), delay(withinMs, false)]);
}

/** On Windows with all that it has started, while their parent can still be told: later nothing binds them to us. */
async function kill(cli: Cli, signal: NodeJS.Signals): Promise<void> {
  if (onWindows) await execa('taskkill', ['/PID', String(cli.pid), '/T', '/F'], { reject: false });
  else cli.kill(signal);
}
