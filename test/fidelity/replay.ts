import { Draft, type Identity } from '../../src/agents/draft.ts';
import { hear } from '../../src/agents/output.ts';
import { type AgentRecord, freshRecord } from '../../src/agents/record.ts';
import { LiveText } from '../../src/claude/live-text.ts';
import type { NewFact } from '../../src/journal/journal.ts';
import type { Delta } from '../../src/protocol/events.ts';

/** What became of one line of the CLI's. */
export type Fate =
  /** A `message` fact with the line's own bytes. */
  | 'fact'
  /** Live text. */
  | 'delta'
  /** A stored permission. */
  | 'permission'
  /** Taken back: a permission was settled by it. */
  | 'withdrawal'
  /** Answered with an error, as we don't serve it. */
  | 'refusal'
  /** Passed on to nobody. */
  | 'nothing';

export type Heard = { json: Line; text: string; fate: Fate; facts: NewFact[]; deltas: Delta[] };

/** A parsed line: somebody else's, so that nothing of it is sure. */
export type Line = { type?: string; subtype?: string; [name: string]: unknown };

const agent: Identity = {
  id: 'a',
  tree: 'a',
  owner: 'o',
  path: ['a'],
  task: { cwd: '/', keepOpen: true } as Identity['task'],
};

/** An agent that hears the lines of a recorded run one by one, each as a step of its own. Nothing is committed. */
export class Replay {
  #record: AgentRecord = { ...freshRecord('s'), run: 1, state: { is: 'idle', since: 0 } };
  readonly #live = new LiveText();
  #text = '';
  #at = 0;

  hear(json: Line): Heard {
    // A blank that no writer of JSON would put there: only the line's own bytes have it.
    const text = JSON.stringify(json).replace('{', '{ ');
    const draft = new Draft({
      agent,
      record: this.#record,
      text: this.#text,
      at: 1,
      run: { live: this.#live, inputTo: 0, ourUuids: new Set() },
    });
    const from = this.#at;
    this.#at += Buffer.byteLength(text) + 1;
    hear(draft, [{ text, from, to: this.#at }], 0);
    this.#record = draft.record;
    this.#text = draft.text;
    const deltas = draft.items.flatMap((item) => ('delta' in item ? [item.delta] : []));
    return { json, text, fate: fateOf(draft, text, deltas), facts: draft.facts, deltas };
  }
}

function fateOf({ facts, lines }: Draft, text: string, deltas: Delta[]): Fate {
  const own = facts.filter(({ type, data }) => type === 'message' && data === text);
  if (own.length > 1) throw new Error(`told twice: ${text}`);
  if (own.length === 1) return 'fact';
  const types = facts.map(({ type }) => type);
  if (types.includes('permission.requested')) return 'permission';
  if (types.includes('permission.resolved')) return 'withdrawal';
  if (lines.some(({ kind }) => kind === 'refusal')) return 'refusal';
  return deltas.length > 0 ? 'delta' : 'nothing';
}

/** `assistant`, `system/init`, `stream_event/message_start`, `control_request/can_use_tool` … */
export function kindOf({ type, subtype, event, request }: Line): string {
  const inner = (event ?? request) as { type?: string; subtype?: string } | undefined;
  const more = inner?.subtype ?? inner?.type ?? subtype;
  return more === undefined ? String(type) : `${type}/${more}`;
}
