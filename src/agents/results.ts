import { randomUUID } from 'node:crypto';
import type { Result } from '../claude/lines.ts';
import type { Draft } from './draft.ts';
import { complete, cutOff, fail, tellPartial } from './ending.ts';
import { consumed, forget } from './messages.ts';
import { withdrawTurn } from './permissions.ts';
import { barrenRuns, costOf, hasNothingOpen } from './record.ts';
import type { Problem, Turn } from './state.ts';
import { holdOwnMessage } from './turns.ts';

/** Reminders that a task may need for its completion phrase, and answers to questions of the CLI. */
const maxReminders = 5;
const reminder = 'Continue. Do not ask for confirmation.';

/** The CLI's `result` line. */
export function resultCame(draft: Draft, result: Result, raw: string): void {
  tellPartial(draft);
  draft.verbatim('message', raw);
  spend(draft, result);
  const { shown } = draft.record;
  if (result.isError && shown.resumed && !shown.init) return resumeFailed(draft, result);
  if (result.text && !result.isError) draft.text = result.text;
  if (result.run) toldOf(draft, result.run);
  if (result.unasked && draft.record.messages.some(({ id }) => id === draft.turn?.message)) {
    return crossed(draft.turn);
  }
  // An interrupt that came a moment too late aborts the turn that follows: no failure either.
  if (result.aborted || draft.turn?.interrupting) return endTurn(draft, 'interrupted');
  endTurn(draft, problemOf(result, draft.turn) ?? 'done');
}

/** Our line crossed a turn that the CLI began by itself: its own turn follows, with the interrupt that was meant for it. */
function crossed(turn: Turn | undefined): void {
  if (!turn) return;
  delete turn.begun;
  delete turn.heard;
  if (turn.interrupting) turn.interrupting = 'wanted';
}

/**
 * The older signals that a turn is over: a final stop reason of a message's own, or the session's being idle. They
 * count only while there was no result, and after output of the turn itself.
 */
export function turnFellSilent(draft: Draft): void {
  if (draft.turn?.heard) endTurn(draft, draft.turn.interrupting ? 'interrupted' : 'done');
}

/** The end of a turn, and of a task that has nothing open. */
function endTurn(draft: Draft, how: 'done' | 'interrupted' | Problem): void {
  const { record, agent, turn } = draft;
  if (turn?.message) consumed(draft, turn.message);
  for (const id of record.taken.splice(0)) draft.change({ type: 'content.forget', agent: agent.id, id });
  withdrawTurn(draft);
  record.calls = {};
  record.answered = [];
  record.results += Number(typeof how === 'string');

  if (record.closing) return complete(draft);
  if (typeof how !== 'string' && !agent.task.keepOpen) return fail(draft, how);
  if (how === 'done' && turn?.promised) return complete(draft);
  draft.move({ type: 'result', at: draft.at });
  if (how !== 'done' || !hasNothingOpen(record)) return;
  if (agent.task.completionPhrase !== undefined) return remind(draft);
  if (!agent.task.keepOpen) complete(draft);
}

/** The turn has told the CLI of the end of that task. */
function toldOf({ record }: Draft, run: string): void {
  for (const [id, task] of Object.entries(record.tasks)) if (task.run === run) delete record.tasks[id];
}

function remind(draft: Draft): void {
  if (draft.record.reminders < maxReminders) return answerQuestion(draft);
  const phrase = draft.agent.task.completionPhrase;
  const detail = `${maxReminders} reminders did not bring <promise>${phrase}</promise>.`;
  fail(draft, { reason: 'promise_not_kept', detail });
}

/** The same words for a turn without its promise and for a question that waits for a human: out of the same five. */
export function answerQuestion(draft: Draft): void {
  if (draft.record.reminders >= maxReminders) return;
  draft.record.reminders += 1;
  // A question comes within a turn, which waits for its answer.
  holdOwnMessage(draft, reminder, { steer: true });
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
  // A file without a conversation can be neither resumed nor opened again (seen on 2.1.332).
  record.session = randomUUID();
  // What the session had taken is sent again, so a word of ours to go on has no sense.
  const opening = record.messages.find(({ id }) => id === turn?.message);
  if (opening?.own && record.taken.length > 0) forget(draft, opening.id);
  cutOff(draft, { reason: 'resume_failed' });
}

function wordsOf({ text, errors, subtype }: Result): string {
  return text || errors.join('; ') || subtype;
}

function spend(draft: Draft, { usage = {}, costUsd }: Result): void {
  const { record } = draft;
  const before = record.usage;
  record.usage = {
    inputTokens: before.inputTokens + (usage.input_tokens ?? 0),
    outputTokens: before.outputTokens + (usage.output_tokens ?? 0),
    cacheReadInputTokens: before.cacheReadInputTokens + (usage.cache_read_input_tokens ?? 0),
    cacheCreationInputTokens: before.cacheCreationInputTokens + (usage.cache_creation_input_tokens ?? 0),
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
    return {
      reason: 'api_error',
      detail: `The model API failed: ${words}. Resume the task once that is settled.`,
    };
  }
  // A stream that ended without message_stop comes as a success (seen on 2.1.197); commands have no turns.
  if (result.stopReason === null && result.turns > 0) {
    return { reason: 'ended_early', detail: 'The model API ended the answer before it was complete.' };
  }
  return undefined;
}
