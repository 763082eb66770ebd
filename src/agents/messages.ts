import { randomUUID } from 'node:crypto';
import type { Content } from '../protocol/content.ts';
import { RequestError } from '../protocol/errors.ts';
import type { Draft } from './draft.ts';
import type { AgentRecord, HeldMessage } from './record.ts';
import { openTurn as turnOf } from './state.ts';
import { type Outgoing, openTurn, send } from './turns.ts';

/** Waiting messages of one agent. */
const maxWaiting = 100;

/**
 * Takes a client's message in: it goes out with this step if nothing stands before it, so that an interrupt that
 * follows meets its turn; else it is held. Gives its id and its place among those that wait.
 */
export function queueMessage(
  draft: Draft,
  message: { from: string; content: Content; steer?: boolean | undefined },
): { message: string; position: number } {
  const { record, agent } = draft;
  const waiting = record.messages.filter(({ sent }) => !sent).length;
  if (waiting >= maxWaiting) {
    const words = `${waiting} messages wait for this agent. Try again when it has taken some.`;
    throw new RequestError('queue_full', words, { limit: maxWaiting });
  }
  const { from, content, steer } = message;
  const id = randomUUID();
  const position = waiting + 1;
  record.messages.push({ id, from, sent: false, ...(steer && { steer }) });
  const fact = draft.fact('message.queued', { id, from, content, position });
  draft.change({ type: 'content.keep', agent: agent.id, id, content: JSON.stringify(content), fact });
  if (nextMessage(record)?.id === id) deliver(draft, { id, content });
  return { message: id, position };
}

/**
 * The waiting message whose turn it is. At most one of our lines is unconsumed in the CLI, as it merges those that
 * wait there into one turn (seen on both CLIs).
 */
export function nextMessage({ state, messages, closing }: AgentRecord): HeldMessage | undefined {
  if (closing || messages.some(({ sent }) => sent)) return undefined;
  const waiting = messages.filter(({ sent }) => !sent);
  const turn = turnOf(state);
  if (turn) return turn.begun && !turn.interrupting ? waiting.find(({ steer }) => steer) : undefined;
  return state.is === 'idle' || state.is === 'starting' ? waiting[0] : undefined;
}

/** Sends a waiting message: into the turn that is open, or as the next one. */
export function deliver(draft: Draft, message: Outgoing): void {
  if (draft.turn) send(draft, message);
  else draft.move({ type: 'turn', turn: openTurn(draft, message) });
}

/** Takes back a message that another one stands for. */
export function forget(draft: Draft, id: string): void {
  draft.record.messages = draft.record.messages.filter((message) => message.id !== id);
  draft.change({ type: 'content.forget', agent: draft.agent.id, id });
}

/** The CLI has taken a message: its echo came, or the result of the turn that it opened. */
export function consumed(draft: Draft, id: string): void {
  const { messages, taken, turns } = draft.record;
  const index = messages.findIndex((message) => message.id === id);
  const message = messages[index];
  if (!message) return;
  messages.splice(index, 1);
  taken.push(id);
  if (!message.own) draft.fact('message.consumed', { id, turn: draft.turn?.number ?? turns });
}
