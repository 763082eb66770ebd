import { LiveText } from '../claude/live-text.ts';
import type { OutputReader } from '../claude/output.ts';
import type { Launch, Run, RunEnd } from '../claude/run.ts';
import { faultPoint } from '../fault.ts';
import type { InputLine, Journal, RunRef, RunRow } from '../journal/journal.ts';
import type { Ports } from './ports.ts';
import type { AgentRecord } from './record.ts';
import { openTurn } from './state.ts';

/** A wrapper that hasn't claimed its run by then never will. */
const claimMs = 5_000;
/** So often a start is tried. */
const maxStarts = 3;
/** So many of our own uuids are recognised when they come back. */
const maxUuids = 2_000;
/** Looking at processes costs more than looking at a file. */
const lookMs = 100;

/** An open run with what is known of it in memory: all of it is rebuilt from the journal and the spool. */
export class OpenRun {
  readonly ref: RunRef;
  readonly marker: string;
  readonly run: Run;
  readonly reader: OutputReader;
  readonly live = new LiveText();
  factsTo: number;
  inputTo: number;
  /** Placed lines that may not be written yet. */
  unwritten: InputLine[];
  /** Uuids of our last user lines, oldest first. */
  readonly ourUuids: Set<string>;
  /** Its process and all that it left are being ended. */
  ending: Promise<void> | undefined;
  /** When the resumed CLI was first seen ready without a word (performance.now). */
  silentSince: number | undefined;
  /** When output last came, or when we began to listen (performance.now). */
  heardAt = performance.now();
  /** What was warned of and still holds. */
  readonly warned = new Set<'output_stalled' | 'disk_low'>();
  #watcher: Disposable | undefined;
  #end: RunEnd | undefined;
  #claimed = false;
  #startedAt = Number.NEGATIVE_INFINITY;
  #starts = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  private constructor(row: RunRow, run: Run, known: { unwritten: InputLine[]; uuids: string[] }) {
    this.ref = { agent: row.agent, run: row.run };
    this.marker = row.marker;
    this.run = run;
    this.reader = run.read(row.textFrom);
    this.factsTo = row.factsTo;
    this.inputTo = row.inputTo;
    this.unwritten = known.unwritten;
    this.ourUuids = new Set(known.uuids);
  }

  static async takeUp(row: RunRow, { openRun, journal }: Ports): Promise<OpenRun> {
    const run = openRun({ agent: row.agent, run: row.run }, row.marker);
    const uuids = (await journal.sentUuids(row, maxUuids)).reverse();
    return new OpenRun(row, run, { unwritten: await journal.inputs(row, run.written()), uuids });
  }

  /** Takes in lines that were committed: they are to be written. */
  place(lines: readonly InputLine[], inputTo: number): void {
    this.inputTo = inputTo;
    this.unwritten.push(...lines);
    for (const { kind, ref } of lines) if (kind === 'user' && ref) this.ourUuids.add(ref);
    for (const oldest of this.ourUuids) {
      if (this.ourUuids.size <= maxUuids) break;
      this.ourUuids.delete(oldest);
    }
  }

  watch(changed: () => void): void {
    this.#watcher = this.run.watch(changed);
  }

  /** How it ended, if it has; to be asked before the output is read, so that all of it is there. */
  look(): RunEnd | undefined {
    const now = performance.now();
    if (this.#end || now - this.#lookedAt < lookMs) return this.#end;
    this.#lookedAt = now;
    const status = this.run.status();
    this.#claimed ||= status.is !== 'unclaimed';
    if (status.is === 'ended') this.#end = status.end;
    return this.#end;
  }

  /** Starts the process if nobody has, and again if the start came to nothing; but not for ever. */
  start(launch: () => Launch): void {
    if (this.#claimed || performance.now() - this.#startedAt < claimMs) return;
    if (this.run.status().is !== 'unclaimed') return;
    this.#startedAt = performance.now();
    this.#starts += 1;
    if (this.#starts > maxStarts) {
      const words = 'nothing could claim the run: are there hard links where the data directory lies?';
      return this.run.failToStart('spawn_failed', words);
    }
    faultPoint('before-spawn');
    this.run.start(launch());
    faultPoint('after-spawn');
  }

  /** Throws on a full disk; the size of the file then tells where to go on. */
  writeInput(): void {
    if (this.unwritten.length === 0) return;
    faultPoint('commit-to-input');
    this.run.write(this.unwritten);
    this.unwritten = [];
  }

  /** Takes out whole lines that no byte was written of, and that became pointless while nobody was there. */
  async dropPointless({ answered, state }: AgentRecord, journal: Journal): Promise<void> {
    const turn = String(openTurn(state)?.number);
    const written = this.run.written();
    const pointless = this.unwritten.filter(({ kind, ref = '', from }) => {
      if (from < written) return false;
      return (kind === 'answer' && !answered.includes(ref)) || (kind === 'interrupt' && ref !== turn);
    });
    if (pointless.length === 0) return;
    // From the last to the first, so that the places of those before it hold.
    const drops = pointless
      .map(({ from }) => ({ type: 'input.drop', run: this.ref, from }) as const)
      .reverse();
    await journal.commit({ run: this.ref, facts: [], changes: drops });
    this.unwritten = await journal.inputs(this.ref, written);
    this.inputTo = this.unwritten.at(-1)?.to ?? written;
  }

  /** Lets go of it: the process, if it lives, works on. */
  close(): void {
    this.#watcher?.[Symbol.dispose]();
    this.reader.close();
  }
}
