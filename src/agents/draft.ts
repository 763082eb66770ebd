import { type LivePiece, LiveText } from '../claude/live-text.ts';
import type {
  Change,
  Commit,
  InputKind,
  InputLine,
  NewFact,
  RunRef,
  RunRow,
  StoredFact,
} from '../journal/journal.ts';
import type { Delta } from '../protocol/events.ts';
import type { FactData, FactType } from '../protocol/facts.ts';
import type { AgentRecord } from './record.ts';
import { isEnded, next, openTurn, type StateInput } from './state.ts';
import type { StoredTask } from './task.ts';

/** What never changes of an agent. */
export type Identity = {
  id: string;
  tree: string;
  owner: string;
  /** Root … this agent. */
  path: string[];
  task: StoredTask;
};

/** An event on its way to the feeds: a committed fact, or live text. */
export type Published = { fact: StoredFact } | { delta: Delta };

/** The same before the commit: a fact by its index in it. */
type DraftItem = { fact: number } | { delta: Delta };

type Place = { message?: string; block?: number };

/** What a step needs of the open run. */
export type DraftRun = {
  live: LiveText;
  inputTo: number;
  /** Uuids of our last user lines: one that comes back is an echo. */
  ourUuids: ReadonlySet<string>;
};

/**
 * One step of an agent before it is committed: the record as it will be, the facts, and the lines for the CLI.
 * Nothing outside is changed, so a step whose commit fails leaves no trace (but in the live text, which is
 * rebuilt from the spool then).
 */
export class Draft {
  readonly agent: Identity;
  readonly record: AgentRecord;
  readonly live: LiveText;
  readonly ourUuids: ReadonlySet<string>;
  readonly at: number;
  readonly items: DraftItem[] = [];
  readonly facts: NewFact[] = [];
  readonly changes: Change[] = [];
  readonly lines: InputLine[] = [];
  /** The assistant's last own text. */
  text: string;
  /** Set at the agent's end. */
  result: { json: string; fact: number } | undefined;
  #inputTo: number;

  constructor(base: {
    agent: Identity;
    record: AgentRecord;
    text: string;
    at: number;
    run?: DraftRun | undefined;
  }) {
    this.agent = base.agent;
    this.record = structuredClone(base.record);
    this.text = base.text;
    this.at = base.at;
    this.live = base.run?.live ?? new LiveText();
    this.ourUuids = base.run?.ourUuids ?? new Set();
    this.#inputTo = base.run?.inputTo ?? 0;
  }

  get run(): RunRef {
    return { agent: this.agent.id, run: this.record.run };
  }

  get inputTo(): number {
    return this.#inputTo;
  }

  get turn() {
    return openTurn(this.record.state);
  }

  get hasEnded(): boolean {
    return isEnded(this.record.state);
  }

  /** Gives the fact's index in the commit. */
  fact<T extends FactType>(type: T, data: FactData<T>, place?: Place): number {
    return this.verbatim(type, JSON.stringify(data), place);
  }

  /** A fact whose data is JSON text already. */
  verbatim(type: FactType, data: string, place: Place = {}): number {
    const turn = this.turn?.number;
    const index = this.facts.push({
      tree: this.agent.tree,
      agent: this.agent.id,
      at: this.at,
      ...(turn !== undefined && { turn }),
      ...place,
      type,
      data,
    });
    this.items.push({ fact: index - 1 });
    return index - 1;
  }

  /** Joins the last delta if it goes on with it: one event for many small pieces. */
  delta(piece: LivePiece): void {
    const last = this.items.at(-1);
    if (last && 'delta' in last) {
      const { delta } = last;
      const joins =
        delta.message === piece.message &&
        delta.block === piece.block &&
        delta.parentToolUse === piece.parentToolUse &&
        delta.at + delta.text.length === piece.at;
      if (joins) {
        delta.text += piece.text;
        return;
      }
    }
    this.items.push({ delta: { type: 'delta', agent: this.agent.id, ...piece } });
  }

  change(change: Change): void {
    this.changes.push(change);
  }

  /** Places a line behind the last one; an agent that waits for its first run has nowhere to place it. */
  write(kind: InputKind, bytes: Uint8Array, ref?: string): void {
    if (this.record.run === 0) return;
    const from = this.#inputTo;
    this.#inputTo = from + bytes.length;
    this.lines.push({ kind, from, to: this.#inputTo, bytes, ...(ref && { ref }) });
  }

  /** A new run has an empty input. */
  openRun(marker: string): RunRow {
    this.record.run += 1;
    this.#inputTo = 0;
    this.change({ type: 'run.open', run: this.run, marker });
    return { ...this.run, marker, factsTo: 0, textFrom: 0, inputTo: 0 };
  }

  /** Moves the state on, and says so if its name changes. Gives whether anything changed. */
  move(input: StateInput, told: Partial<FactData<'agent.state'>> = {}): boolean {
    const before = this.record.state;
    const after = next(before, input);
    if (!after) return false;
    this.record.state = after;
    if (after.is !== before.is) this.fact('agent.state', { state: after.is, ...told });
    return true;
  }

  /** The record as a change. */
  update(version: number): Change {
    const { record, result, agent } = this;
    return {
      type: 'agent.update',
      agent: agent.id,
      version,
      state: record.state.is,
      record: JSON.stringify(record),
      ...(result && { result }),
    };
  }

  /**
   * What may be refused comes first, so that of two that decide at once the second is told so. The lines go behind
   * all other changes, as a run must be open before its input has a place.
   */
  commit(more: Change[]): Commit {
    const { lines, run } = this;
    const placed: Change[] = lines.length > 0 ? [{ type: 'input.place', run, lines }] : [];
    return { facts: this.facts, changes: [...more, ...this.changes, ...placed] };
  }

  /** The step's events in order, once its facts are committed. */
  events(facts: readonly StoredFact[]): Published[] {
    return this.items.flatMap((item): Published[] => {
      if ('delta' in item) return [item];
      const fact = facts[item.fact];
      return fact ? [{ fact }] : [];
    });
  }
}
