import { randomUUID } from 'node:crypto';
import { interruptLine, userLine } from '../claude/stdin.ts';
import type { Content } from '../protocol/content.ts';
import type { Draft } from './draft.ts';
import type { HeldMessage } from './record.ts';
import type { Turn } from './state.ts';

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

/** Holds a word of ours for the CLI. */
export function holdOwnMessage(
  draft: Draft,
  content: Content,
  more: Pick<HeldMessage, 'steer'> = {},
): Outgoing {
  const id = randomUUID();
  draft.record.messages.push({ id, from: 'gateway', sent: false, own: true, ...more });
  draft.change({ type: 'content.keep', agent: draft.agent.id, id, content: JSON.stringify(content) });
  return { id, content };
}

/** The CLI has shown `init`: the turn has begun, and can be interrupted from now on. */
export function turnBegan(draft: Draft): void {
  if (draft.record.state.is === 'idle') openOwnTurn(draft);
  const { turn } = draft;
  if (!turn || turn.begun) return;
  turn.begun = true;
  if (turn.interrupting === 'wanted') sendInterrupt(draft, turn);
}

/** Asks for the end of the open turn, once: a second line would end the next one (seen on both CLIs). */
export function interrupt(draft: Draft): boolean {
  const { turn } = draft;
  if (!turn) return false;
  if (turn.interrupting) return true;
  turn.interrupting = 'wanted';
  if (turn.begun) sendInterrupt(draft, turn);
  return true;
}

function sendInterrupt(draft: Draft, turn: Turn): void {
  turn.interrupting = 'sent';
  draft.write('interrupt', interruptLine(randomUUID()), String(turn.number));
}
