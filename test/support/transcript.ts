import type { Delta } from '../../src/protocol/events.ts';
import type { TestClient } from './client.ts';

/**
 * What a client has of an agent's messages by the rules of the protocol: live text placed by position, and complete
 * messages that replace their block. Throws on a hole, and on facts that are doubled or out of order.
 */
export function transcriptOf({ events }: TestClient, agent: string) {
  const live = new Map<string, string>();
  const complete = new Map<string, string>();
  let last = 0;
  for (const { event } of events) {
    if (event.agent !== agent) continue;
    if (event.type === 'delta') {
      place(live, event);
      continue;
    }
    if (event.seq <= last) throw new Error(`fact ${event.seq} came after ${last}`);
    last = event.seq;
    if (event.type === 'message' && event.message !== undefined && event.block !== undefined) {
      complete.set(`${event.message}/${event.block}`, textIn(event.data));
    }
  }
  return {
    /** Text blocks as they grew before the eyes of the client. */
    live: [...live.values()],
    /** Text of the complete messages (and of partial ones). */
    complete: [...complete.values()].filter((text) => text !== ''),
  };
}

function place(live: Map<string, string>, { kind, message, block, at, text }: Delta): void {
  if (kind !== 'text') return;
  const name = `${message}/${block}`;
  const have = live.get(name) ?? '';
  if (at > have.length) throw new Error(`a hole in ${name}: at ${at}, but only ${have.length} are there`);
  live.set(name, have + text.slice(have.length - at));
}

function textIn(data: unknown): string {
  const { message } = data as { message?: { content?: { type: string; text?: string }[] } };
  return (message?.content ?? []).map(({ text = '' }) => text).join('');
}
