import { Draft } from '../../src/agents/draft.ts';
import { hear, initializeId } from '../../src/agents/output.ts';
import { type AgentRecord, freshRecord } from '../../src/agents/record.ts';
import { openRun } from '../../src/agents/resume.ts';
import type { StoredTask } from '../../src/agents/task.ts';
import { holdOwnMessage } from '../../src/agents/turns.ts';
import { LiveText } from '../../src/claude/live-text.ts';

/** What a step came to: its facts, and the lines for the CLI. */
export type Played = {
  facts: { type: string; turn?: number; data: Record<string, unknown> }[];
  lines: Record<string, unknown>[];
};

/** An agent's steps without a process and a journal: each on the record that the one before has left. */
export class Rehearsal {
  record: AgentRecord;
  /** Of all steps so far. */
  readonly facts: Played['facts'] = [];
  readonly #task: StoredTask;
  readonly #live = new LiveText();
  #at = 1_000;
  #from = 0;

  constructor(task: Partial<StoredTask> = {}) {
    this.#task = { cwd: '/work', ...task };
    this.record = freshRecord('session-1');
    this.step((draft) => {
      openRun(draft, task.keepOpen ? undefined : holdOwnMessage(draft, 'The prompt.'));
    });
    this.hear({
      type: 'control_response',
      response: { subtype: 'success', request_id: initializeId(this.record.run), response: {} },
    });
  }

  get state(): string {
    return this.record.state.is;
  }

  /** Ids of our user lines that the CLI has not taken. */
  get sent(): string[] {
    return this.record.messages.filter(({ sent }) => sent).map(({ id }) => id);
  }

  of(type: string): Record<string, unknown>[] {
    return this.facts.filter((fact) => fact.type === type).map(({ data }) => data);
  }

  wait(ms: number): void {
    this.#at += ms;
  }

  hear(...lines: object[]): Played {
    return this.step((draft) => {
      const raw = lines.map((line) => {
        const text = JSON.stringify(line);
        const from = this.#from;
        this.#from += text.length + 1;
        return { text, from, to: this.#from };
      });
      hear(draft, raw, 0);
    });
  }

  step(act: (draft: Draft) => unknown): Played {
    const draft = new Draft({
      agent: { id: 'agent', tree: 'agent', owner: 'owner', path: ['agent'], task: this.#task },
      record: this.record,
      text: '',
      at: this.#at,
      run: { live: this.#live, inputTo: 0, ourUuids: new Set() },
    });
    act(draft);
    this.record = draft.record;
    const facts = draft.facts.map(({ type, turn, data }) => ({
      type,
      ...(turn !== undefined && { turn }),
      data: JSON.parse(data),
    }));
    this.facts.push(...facts);
    return { facts, lines: draft.lines.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString())) };
  }
}

/** Lines as both CLIs write them, with no more in them than is read. */
export const init = { type: 'system', subtype: 'init', session_id: 'session-1' };
export const says = (text: string) => ({
  type: 'assistant',
  message: { id: `msg-${text}`, content: [{ type: 'text', text }] },
});
export const result = (more: object = {}) => ({
  type: 'result',
  subtype: 'success',
  is_error: false,
  num_turns: 1,
  stop_reason: 'end_turn',
  result: 'Done.',
  ...more,
});
export const aborted = result({
  subtype: 'error_during_execution',
  is_error: true,
  stop_reason: null,
  terminal_reason: 'aborted_streaming',
  errors: ['[ede_diagnostic]'],
});
export const echo = (uuid: string, content = '') => ({
  type: 'user',
  isReplay: true,
  uuid,
  message: { content },
});
export const asks = (request_id: string, more: object = {}) => ({
  type: 'control_request',
  request_id,
  request: { subtype: 'can_use_tool', tool_name: 'Bash', input: { command: 'touch x' }, ...more },
});
export const takesBack = (request_id: string) => ({ type: 'control_cancel_request', request_id });
