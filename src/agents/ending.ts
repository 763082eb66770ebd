import { randomUUID } from 'node:crypto';
import type { LivePiece } from '../claude/live-text.ts';
import { endLine } from '../claude/stdin.ts';
import type { AgentResult, StateReason } from '../protocol/agent.ts';
import type { FactData } from '../protocol/facts.ts';
import type { Draft } from './draft.ts';
import { consumed } from './messages.ts';
import { withdrawAll } from './permissions.ts';
import { costOf } from './record.ts';
import { type Ended, isEnded, type Problem, type Turn } from './state.ts';

/** The text of messages that nobody will complete, as facts of their own. */
export function tellPartial(draft: Draft): void {
  for (const piece of draft.live.breakOff()) tellPiece(draft, piece);
}

export function tellPiece(
  draft: Draft,
  { message, block, parentToolUse, kind, text, tool }: LivePiece,
): void {
  const content = {
    text: { type: 'text', text },
    thinking: { type: 'thinking', thinking: text },
    input: { type: 'tool_use', id: tool?.id, name: tool?.name, partial_json: text },
  }[kind];
  if (kind === 'text' && !parentToolUse) keepText(draft, text);
  draft.fact(
    'message',
    {
      type: 'assistant',
      partial: true,
      message: { id: message, type: 'message', role: 'assistant', content: [content] },
      parent_tool_use_id: parentToolUse ?? null,
    },
    { message, block },
  );
}

/** What stands as the result if nothing better comes. */
export function keepText(draft: Draft, text: string): void {
  draft.text = text;
  draft.change({ type: 'content.keep', agent: draft.agent.id, id: 'text', content: text });
}

export function complete(draft: Draft, detail?: string): void {
  end(draft, { is: 'completed', ...(detail && { detail }) });
}

export function fail(draft: Draft, problem: Problem): void {
  end(draft, { is: 'failed', ...problem });
}

/** Also of an agent that is about to go on after a crash. */
export function cancel(draft: Draft, reason: string | undefined): void {
  const { state } = draft.record;
  if (state.is === 'interrupted' && state.resuming) draft.record.state = { is: 'queued' };
  end(draft, { is: 'cancelled', ...(reason && { detail: reason }) });
}

/**
 * The end of a run: partial text, open permissions, waiting messages and the result are settled in the same
 * commit, and the state is its last fact. An `interrupted` that resumes is no end for those who wait.
 */
export function end(draft: Draft, as: Ended): void {
  if (isEnded(draft.record.state)) return;
  tellPartial(draft);
  withdrawAll(draft);
  draft.record.calls = as.is === 'interrupted' ? draft.record.calls : {};
  draft.record.tasks = {};
  const resuming = as.is === 'interrupted' && as.resuming;
  if (!resuming) {
    dropMessages(draft, as.is);
    const result = resultOf(draft, as);
    draft.result = { json: JSON.stringify(result), fact: draft.fact('agent.result', result) };
    draft.change({ type: 'content.forget', agent: draft.agent.id });
  }
  const { is, ...told } = as;
  draft.move({ type: 'end', as }, toldOf(told));
  // A process that is gone doesn't read it, and that does no harm.
  draft.write('end', endLine(randomUUID()));
}

/** A run is lost and another one follows, which takes up the open turn. */
export function cutOff(draft: Draft, told: { reason: StateReason; exitCode?: number }): void {
  const { turn } = draft;
  if (turn?.interrupting) letGo(draft, turn);
  end(draft, {
    is: 'interrupted',
    resuming: true,
    ...told,
    ...(turn && !turn.interrupting && { cut: turn }),
  });
}

/** Interrupts a turn that was cut, before the next run takes it up. Gives whether there is one. */
export function interruptCut(draft: Draft): boolean {
  const { state } = draft.record;
  if (state.is !== 'interrupted' || !state.cut) return false;
  letGo(draft, state.cut);
  delete state.cut;
  return true;
}

/** A turn that is to be ended isn't taken up again, nor is its message. */
function letGo(draft: Draft, { message }: Turn): void {
  if (message) consumed(draft, message);
}

function toldOf(ended: Omit<Ended, 'is'>): Partial<FactData<'agent.state'>> {
  const { cut: _cut, ...told } = ended as { cut?: unknown } & Partial<FactData<'agent.state'>>;
  return told;
}

function dropMessages(draft: Draft, reason: string): void {
  for (const message of draft.record.messages) {
    if (!message.own) draft.fact('message.dropped', { id: message.id, reason });
  }
  draft.record.messages = [];
}

function resultOf({ record, text }: Draft, as: Ended): AgentResult {
  return {
    state: as.is,
    ...('reason' in as && { reason: as.reason }),
    text,
    usage: record.usage,
    costUsd: costOf(record),
    ...(record.atLeast && { atLeast: true }),
    turns: record.turns,
  };
}
