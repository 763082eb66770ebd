import { setTimeout as delay } from 'node:timers/promises';
import type { RunEnd } from '../claude/run.ts';
import { faultPoint } from '../fault.ts';
import {
  type AgentRow,
  type Change,
  type Commit,
  CommitRefused,
  JournalUnavailable,
  type RunRef,
  type StoredFact,
} from '../journal/journal.ts';
import type { Content } from '../protocol/content.ts';
import type { Delta } from '../protocol/events.ts';
import { Abandonment } from './abandonment.ts';
import { Draft, type Identity } from './draft.ts';
import { endIdle, isSilent, warn } from './due.ts';
import { cancel, fail } from './ending.ts';
import { deliver, nextMessage } from './messages.ts';
import { OpenRun } from './open-run.ts';
import { hear } from './output.ts';
import { expireOverdue } from './permissions.ts';
import { holdsPlace } from './places.ts';
import type { Ports } from './ports.ts';
import type { AgentRecord } from './record.ts';
import { continueMessage, openRun, processEnded, replaceSilentMessage } from './resume.ts';
import { Serial } from './serial.ts';
import { isEnded, isOver } from './state.ts';
import type { StoredTask } from './task.ts';
import type { Outgoing } from './turns.ts';

/** How long a process may take for each step of its end. */
const graceMs = 1_500;
/** The pause after which what failed on a full disk is tried again. */
const retryMs = 500;
/** So often a fault of ours may come back before it ends the agent. */
const maxFaults = 5;

/**
 * An agent with an open run. Whatever happens to it becomes a step: a draft of the new record with its facts
 * and lines, one commit, then the effects that the committed state calls for. Since those are derived from the
 * state, a restart needs nothing but to read the spool to its end and to derive them again.
 */
export class Agent {
  readonly identity: Identity;
  readonly #ports: Ports;
  readonly #closed = Promise.withResolvers<void>();
  readonly #serial = new Serial();
  readonly #abandonment: Abandonment;
  #record: AgentRecord;
  #version: number;
  /** The assistant's last own text. */
  #text = '';
  #open: OpenRun | undefined;
  #woken = false;
  /** The run whose memory is to be made anew before the next step. */
  #stale: RunRef | undefined;
  /** A failed step is tried again when the time has come, not at the next hint. */
  #waiting = false;
  /** Steps in a row that a fault of ours broke. */
  #faults = 0;
  #stopped = false;

  /** `wasWatched`: somebody may have subscribed before, so that their absence counts. */
  constructor(row: AgentRow, path: string[], ports: Ports, wasWatched: boolean) {
    const { id, tree, owner } = row;
    this.identity = { id, tree, owner, path, task: JSON.parse(row.task) as StoredTask };
    this.#record = JSON.parse(row.record) as AgentRecord;
    this.#version = row.version;
    this.#ports = ports;
    this.#abandonment = new Abandonment(this.identity.task, wasWatched);
  }

  /** Resolves when its last run is closed and nothing is left to do. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** It has ended and doesn't go on by itself. */
  get isOver(): boolean {
    return isOver(this.#record.state);
  }

  /** Somebody has subscribed to it. */
  followed(): void {
    this.#abandonment.followed();
  }

  /** Unfinished text, each block from position 0. */
  liveText(): Delta[] {
    const pieces = this.#open?.live.soFar() ?? [];
    return pieces.map((piece) => ({ type: 'delta', agent: this.identity.id, ...piece }));
  }

  /** Takes up an open run: reads its spool to the end, then does what its state calls for. */
  attach(run: RunRef): Promise<void> {
    this.#stale = run;
    return this.#serial.run(async () => {
      try {
        await this.#freshen();
      } catch (error) {
        this.#failed(run, error);
      }
    });
  }

  /** Opens the first run of an agent that stood in line. */
  begin(): void {
    void this.#serial.run(async () => {
      if (this.#stopped || this.#record.state.is !== 'queued') return;
      try {
        const draft = this.#draft();
        const own = draft.record.messages.find((message) => message.own);
        const run = openRun(draft, own && { id: own.id, content: await this.#content(own.id) });
        await this.#commit(draft);
        this.#stale = run;
        this.#wake();
      } catch (error) {
        this.#ports.log.warn({ err: error, agent: this.identity.id }, 'a task could not begin yet');
        setTimeout(() => this.begin(), retryMs);
      }
    });
  }

  /**
   * Makes the memory anew from journal and spool, if it can't be trusted: at the start, and after a failed step.
   * Throws if that can't be done now; then it is still to be done.
   */
  async #freshen(): Promise<void> {
    const run = this.#stale;
    if (!run) return;
    const { journal } = this.#ports;
    const [row, agent] = [await journal.run(run), await journal.agent(this.identity.id)];
    if (!row || !agent) throw new Error(`run ${run.run} of ${run.agent} is not in the journal`);
    const open = await OpenRun.takeUp(row, this.#ports);
    open.ending = this.#open?.ending;
    this.#open?.close();
    this.#open = open;
    this.#record = JSON.parse(agent.record) as AgentRecord;
    this.#version = agent.version;
    this.#text = (await journal.content(this.identity.id, 'text')) ?? '';
    this.#settlePlace();
    if (this.#faults >= maxFaults) await this.#giveUp();
    while (await this.#readOn(open));
    await open.dropPointless(this.#record, journal);
    this.#stale = undefined;
    this.#goOn(open);
  }

  /** A full disk or a guard passes; a fault of ours would come back with the same line, so it ends the agent at last. */
  #failed(run: RunRef, error: unknown): void {
    const passes = error instanceof JournalUnavailable || error instanceof CommitRefused;
    this.#ports.log[passes ? 'warn' : 'error']({ err: error, agent: this.identity.id }, 'a step failed');
    this.#faults += Number(!passes);
    this.#stale = run;
    this.#waiting = true;
    setTimeout(() => {
      this.#waiting = false;
      this.#wake();
    }, retryMs);
  }

  async #giveUp(): Promise<void> {
    const draft = this.#draft();
    fail(draft, { reason: 'gateway_fault', detail: 'The gateway failed on this agent; its log says why.' });
    await this.#commit(draft);
  }

  /**
   * A step that somebody asked for, decided on the newest state. `keep`: what else the same commit is to hold.
   * Rejects with what `decide` throws, or JournalUnavailable; then nothing was done.
   */
  act<T>(decide: (draft: Draft) => T, keep: (outcome: T) => Change[]): Promise<T> {
    return this.#serial.run(async () => {
      await this.#freshen();
      const draft = this.#draft();
      const outcome = decide(draft);
      const run = this.#open?.ref;
      try {
        await this.#commit(draft, keep(outcome));
      } catch (error) {
        if (run) this.#failed(run, error);
        throw error;
      }
      this.#reconcile();
      this.#wake();
      return outcome;
    });
  }

  /** Lets go of the run without ending it: the gateway stops, the agent works on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#serial.run(async () => this.#open?.close());
  }

  #goOn(open: OpenRun): void {
    if (this.#stopped) return;
    open.watch(() => this.#wake());
    this.#wake();
  }

  #wake(): void {
    if (this.#woken || this.#stopped || this.#waiting) return;
    this.#woken = true;
    void this.#serial.run(async () => {
      this.#woken = false;
      if (!this.#stopped) await this.#tick();
    });
  }

  async #tick(): Promise<void> {
    const run = this.#stale ?? this.#open?.ref;
    if (!run) return;
    try {
      await this.#freshen();
      if (this.#open) await this.#look(this.#open);
      this.#faults = 0;
    } catch (error) {
      this.#failed(run, error);
    }
  }

  async #look(open: OpenRun): Promise<void> {
    const end = open.look();
    // One chunk, then whoever waits has a turn.
    if (await this.#readOn(open)) return this.#wake();
    if (end) await this.#processEnded(open, end);
    else await this.#care(open);
    this.#reconcile();
  }

  /** Reads and commits one chunk. Gives whether there was one. */
  async #readOn(open: OpenRun): Promise<boolean> {
    if (isEnded(this.#record.state)) return false;
    const lines = open.reader.next();
    if (!lines) return false;
    open.heardAt = performance.now();
    const draft = this.#draft();
    hear(draft, lines, open.factsTo);
    faultPoint('read-to-commit', draft.facts);
    const to = Math.max(open.factsTo, lines.at(-1)?.to ?? 0);
    if (this.#isEmpty(draft)) {
      this.#publish(draft, []);
    } else {
      const textFrom = Math.min(to, open.live.oldest ?? to);
      await this.#commit(draft, [], { expect: open.factsTo, factsTo: to, textFrom });
      open.factsTo = to;
    }
    // More lines at once cost less: at 10,000 a second this pause halves the work.
    if (open.reader.wasFull) await delay(2);
    return true;
  }

  #draft(): Draft {
    return new Draft({
      agent: this.identity,
      record: this.#record,
      text: this.#text,
      at: this.#ports.now(),
      run: this.#open,
    });
  }

  #isEmpty({ facts, changes, lines, record }: Draft): boolean {
    const nothing = facts.length === 0 && changes.length === 0 && lines.length === 0;
    return nothing && JSON.stringify(record) === JSON.stringify(this.#record);
  }

  async #commit(draft: Draft, more: Change[] = [], offsets?: Commit['offsets']): Promise<void> {
    const commit = draft.commit([draft.update(this.#version), ...more]);
    const facts = await this.#ports.journal.commit({
      ...commit,
      ...(this.#open && { run: this.#open.ref }),
      ...(offsets && { offsets }),
    });
    this.#version += 1;
    this.#record = draft.record;
    this.#text = draft.text;
    this.#open?.place(draft.lines, draft.inputTo);
    this.#settlePlace();
    faultPoint('commit-to-flush', draft.facts);
    this.#publish(draft, facts);
  }

  #settlePlace(): void {
    const { places } = this.#ports;
    if (holdsPlace(this.#record)) places.hold(this.identity.id);
    else if (this.#record.state.is !== 'queued') places.leave(this.identity.id);
  }

  #publish(draft: Draft, facts: StoredFact[]): void {
    const events = draft.events(facts);
    if (events.length > 0) this.#ports.publish(this.identity, events);
  }

  async #processEnded(open: OpenRun, end: RunEnd): Promise<void> {
    if (isEnded(this.#record.state)) return;
    const draft = this.#draft();
    processEnded(draft, { ...end, stderr: open.run.stderrTail(), unfinished: open.reader.unfinished });
    await this.#commit(draft);
  }

  /** What is due by now: answers, waiting messages, the end of those that nobody needs. */
  async #care(open: OpenRun): Promise<void> {
    const draft = this.#draft();
    const message = nextMessage(draft.record);
    if (message) deliver(draft, { id: message.id, content: await this.#content(message.id) });
    expireOverdue(draft);
    endIdle(draft);
    if (this.#abandonment.isDue(this.#ports.isWatched(this.identity)))
      cancel(draft, 'The last subscriber has gone.');
    if (isSilent(open, draft.record)) replaceSilentMessage(draft);
    warn(draft, open, this.#ports.freeBytes());
    if (!this.#isEmpty(draft)) await this.#commit(draft);
  }

  async #content(id: string): Promise<Content> {
    const content = await this.#ports.journal.content(this.identity.id, id);
    if (content === undefined) throw new Error(`the content of message ${id} is not in the journal`);
    return JSON.parse(content) as Content;
  }

  /** Does what the committed state calls for. Doing it twice does no harm. */
  #reconcile(): void {
    const open = this.#open;
    // It ended while it stood in line.
    if (!open && this.isOver) this.#closed.resolve();
    if (!open || this.#stopped) return;
    try {
      open.writeInput();
    } catch (error) {
      this.#ports.log.warn({ err: error, agent: this.identity.id }, 'input could not be written yet');
    }
    if (isEnded(this.#record.state)) open.ending ??= this.#endProcess(open);
    else open.start(() => this.#ports.launch(this.identity, this.#record, open.marker));
  }

  /** Ends the process and what it left, then closes the run. */
  async #endProcess(open: OpenRun): Promise<void> {
    faultPoint('end-to-process-end');
    await open.run.end(graceMs);
    faultPoint('process-end-to-close');
    while (!this.#stopped) {
      try {
        return await this.#serial.run(() => this.#closeRun());
      } catch (error) {
        this.#ports.log.warn({ err: error, agent: this.identity.id }, 'the run could not be closed yet');
        await delay(retryMs);
      }
    }
  }

  /** Closes the run, and opens the next one if the agent is to go on. */
  async #closeRun(): Promise<void> {
    await this.#freshen();
    const open = this.#open;
    if (!open || this.#stopped) return;
    const draft = this.#draft();
    draft.change({ type: 'run.close', run: open.ref });
    const { state } = this.#record;
    const goesOn = state.is === 'interrupted' && state.resuming;
    const opened = goesOn ? openRun(draft, state.cut ? await this.#cutMessage(draft) : undefined) : undefined;
    // Before the commit, as nobody would look for the spool of a closed run.
    open.run.remove();
    faultPoint('remove-to-close');
    await this.#commit(draft);
    this.#open = undefined;
    open.close();
    if (!opened) return this.#closed.resolve();
    this.#stale = opened;
    this.#wake();
  }

  /** The message of the turn that was cut: the same one if no session of the CLI has it, else a new one. */
  async #cutMessage(draft: Draft): Promise<Outgoing> {
    const { messages, taken, resumable } = draft.record;
    const id = (resumable ? undefined : taken[0]) ?? messages.find(({ sent }) => sent)?.id;
    const content = id && (await this.#ports.journal.content(this.identity.id, id));
    return content ? { id, content: JSON.parse(content) as Content } : continueMessage(draft);
  }
}
