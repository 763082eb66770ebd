import type { Fact } from '../src/protocol/events.ts';
import { LiveText } from './live-text.ts';
import type { TreeEvent } from './reader.ts';

const blankLine = '\n\n';

/**
 * What Claude says to people, as it grows: the text of one agent's main thread, without thinking, tools and subagents.
 * A blank line stands between two blocks.
 */
export class SpokenText {
  readonly #agent: string;
  readonly #live = new LiveText();
  #block: string | undefined;

  constructor(agent: string) {
    this.#agent = agent;
  }

  /** What the event adds; often nothing. */
  add(event: TreeEvent): string {
    if (event.type === 'delta') {
      if (event.agent !== this.#agent || event.kind !== 'text' || event.parentToolUse !== undefined)
        return '';
      return this.#join(event, this.#live.place(event)?.text ?? '');
    }
    if (event.type !== 'message' || event.agent !== this.#agent) return '';
    const { agent, message, block } = event;
    if (message === undefined || block === undefined) return '';
    // Whoever came late, or was cut off, has not seen all of it grow.
    const had = this.#live.replace({ agent, message, block });
    return this.#join({ message, block }, textIn(event).slice(had));
  }

  #join({ message, block }: { message: string; block: number }, text: string): string {
    if (text === '') return '';
    const name = `${message} ${block}`;
    const isNext = this.#block !== undefined && this.#block !== name;
    this.#block = name;
    return isNext ? blankLine + text : text;
  }
}

/** What we read of a line of the CLI's. */
interface AssistantLine {
  type: string;
  parent_tool_use_id?: string | null;
  message?: { content?: { type: string; text?: string }[] };
}

function textIn({ data }: Fact<'message'>): string {
  const { type, parent_tool_use_id: parent, message } = data as AssistantLine;
  if (type !== 'assistant' || parent) return '';
  const texts = (message?.content ?? []).map((content) => (content.type === 'text' ? content.text : ''));
  return texts.join('');
}
