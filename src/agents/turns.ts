import { randomUUID } from 'node:crypto';
import type { Result } from '../claude/lines.ts';
import { userLine } from '../claude/stdin.ts';
import type { Content } from '../protocol/content.ts';
import type { Draft } from './draft.ts';
import { complete, end, fail, tellPartial } from './ending.ts';
import { withdrawTurn } from './permissions.ts';
import { barrenRuns, costOf } from './record.ts';
import type { Problem, Turn } from './state.ts';

export type Outgoing = { id: string; content: Content };

/** Places the line of a held message. Its content stays journaled until the CLI has taken it. */
export function send(draft: Draft, { id, content }: Outgoing): void {
  draft.write('user', userLine(id, content), id);
  const held = draft.record.messages.find((message) => message.id === id);
  if (held) held.sent = true;
}

/** Opens a turn with a held message. */
export function openTurn(draft: Draft, message: Outgoing): Turn {
  send(draft, message);
  return nextTurn(draft, message.id);
}

/** A turn that the CLI starts by itself, as when a background task has ended. */
export function openOwnTurn(draft: Draft): void {
  draft.move({ type: 'turn', turn: nextTurn(draft) });
}

function nextTurn(draft: Draft, message?: string): Turn {
  draft.record.turns += 1;
  draft.record.answered = [];
  return { number: draft.record.turns, ...(message && { message }) };
}

/** Puts a word of ours before the CLI, to be sent as the next turn. */
export function holdOwnMessage(draft: Draft, content: Content): Outgoing {
  const id = randomUUID();
  draft.record.messages.push({ id, from: 'gateway', sent: false, own: true });
  draft.change({ type: 'content.keep', agent: draft.agent.id, id, content: JSON.stringify(content) });
  return { id, content };
}

/** The CLI has taken a message: its echo came, or the result of the turn that it opened. */
export function consumed(draft: Draft, id: string): void {
  const { messages } = draft.record;
  const index = messages.findIndex((message) => message.id === id);
  const message = messages[index];
  if (!message) return;
  messages.splice(index, 1);
  draft.record.taken.push(id);
  if (!message.own) draft.fact('message.consumed', { id, turn: draft.turn?.number ?? draft.record.turns });
}

/** The CLI's `result` line: the end of a turn, and of a one-shot task that has nothing open. */
export function resultCame(draft: Draft, result: Result, raw: string): void {
  tellPartial(draft);
  draft.verbatim('message', raw);
  spend(draft, result);
  const { turn, record } = draft;
  if (result.isError && record.shown.resumed && !record.shown.init) return resumeFailed(draft, result);
  if (turn?.message) consumed(draft, turn.message);
  for (const id of record.taken.splice(0))
    draft.change({ type: 'content.forget', agent: draft.agent.id, id });
  withdrawTurn(draft);
  record.calls = {};
  record.answered = [];
  if (result.text) draft.text = result.text;

  const problem = turn?.interrupting ? undefined : problemOf(result, turn);
  record.results += Number(!problem);
  if (problem && !draft.agent.task.keepOpen) return fail(draft, problem);
  if (!problem && !turn?.interrupting && isDone(draft)) return complete(draft, result.text ?? draft.text);
  draft.move({ type: 'result' });
}

/**
 * The session isn't there. A CLI that is killed early in its first turn may not have written it, though it had
 * shown `init` (seen on both CLIs): then nothing is lost by opening it anew.
 */
function resumeFailed(draft: Draft, result: Result): void {
  const { record, turn } = draft;
  record.barren += 1;
  if (record.results > 0 || record.barren >= barrenRuns) {
    return fail(draft, { reason: 'resume_failed', detail: wordsOf(result) });
  }
  record.resumable = false;
  end(draft, { is: 'interrupted', reason: 'resume_failed', resuming: true, ...(turn && { cut: turn }) });
}

function wordsOf({ text, errors, subtype }: Result): string {
  return text || errors.join('; ') || subtype;
}

function isDone({ agent, record }: Draft): boolean {
  return !agent.task.keepOpen && record.tasks.length === 0 && record.messages.length === 0;
}

function spend(draft: Draft, { usage = {}, costUsd }: Result): void {
  const { record } = draft;
  record.usage = {
    inputTokens: record.usage.inputTokens + (usage.input_tokens ?? 0),
    outputTokens: record.usage.outputTokens + (usage.output_tokens ?? 0),
    cacheReadInputTokens: record.usage.cacheReadInputTokens + (usage.cache_read_input_tokens ?? 0),
    cacheCreationInputTokens:
      record.usage.cacheCreationInputTokens + (usage.cache_creation_input_tokens ?? 0),
  };
  if (costUsd !== undefined) record.cost.run = costUsd;
  const spending = {
    usage: record.usage,
    costUsd: costOf(record),
    ...(record.atLeast && { atLeast: true }),
  };
  draft.fact('agent.usage', { ...spending, subtree: { agents: 1, ...spending } });
}

/** Why a result is no success, whatever its subtype says. */
function problemOf(result: Result, turn: Turn | undefined): Problem | undefined {
  const words = wordsOf(result);
  if (result.isError) {
    if (turn?.error === 'authentication_failed' && /not logged in|\/login/i.test(words)) {
      return {
        reason: 'not_logged_in',
        detail: `${words}. Run \`claude\` once as the gateway's user and log in, or set ANTHROPIC_API_KEY.`,
      };
    }
    return { reason: 'api_error', detail: words };
  }
  // A stream that ended without message_stop comes as a success (seen on 2.1.197); commands have no turns.
  if (result.stopReason === null && result.turns > 0) {
    return { reason: 'ended_early', detail: 'The model API ended the answer before it was complete.' };
  }
  return undefined;
}
