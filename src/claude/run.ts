/** One process of an agent, as the agent sees it: a spool that is read and written, and a process behind it. */
import type { OutputReader } from './output.ts';

/** How a run ended. `code` is the CLI's exit status (128 + n for signal n), unknown if nobody recorded it. */
export type RunEnd = { code?: number; problem?: SpawnProblem };

/** Why no process could be started. */
export type SpawnProblem = 'cwd_missing' | 'spawn_failed';

export type RunStatus = { is: 'unclaimed' } | { is: 'alive' } | { is: 'ended'; end: RunEnd };

/** What is needed to start the process. */
export type Launch = { command: string[]; cwd: string; env: Record<string, string> };

/** Bytes for stdin with their place [from, to) in it. */
export type PlacedBytes = { from: number; to: number; bytes: Uint8Array };

export interface Run {
  /** Reads the CLI's stdout from a byte on. */
  read(from: number): OutputReader;
  /** How many bytes of stdin were written: the mark of what need not be written again. */
  written(): number;
  /** Writes what is missing of these consecutive lines, also the second half of a torn one. Throws on a full disk. */
  write(lines: readonly PlacedBytes[]): void;
  /** Starts the process, unless somebody has already. */
  start(launch: Launch): void;
  /** Ends a run that nobody could start, with the reason. */
  failToStart(problem: SpawnProblem, words: string): void;
  status(): RunStatus;
  /** The last lines of stderr, at most 20. */
  stderrTail(): string[];
  /**
   * Ends the process and all that it left behind: a grace for a clean end that has been asked for, SIGTERM,
   * another grace, SIGKILL, then a sweep. Also right for a process that is gone or was never started.
   */
  end(graceMs: number): Promise<void>;
  /** Calls back when there may be output or an end: a hint that may come late or not at all. */
  watch(changed: () => void): Disposable;
  /** Deletes the spool. */
  remove(): void;
}
