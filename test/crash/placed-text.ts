import type { Delta, Fact } from '../../src/protocol/events.ts';

type Block = { text: string; complete: boolean };

/** Live text as a client has it: placed by position, replaced by the complete message. Says what doesn't fit. */
export class PlacedText {
  /** Pieces that added something. */
  placed = 0;
  /** Pieces that were there already, in part or whole. */
  repeated = 0;
  readonly problems: string[] = [];
  readonly #blocks = new Map<string, Block>();
  /** Texts of complete messages by id, in order, by agent. */
  readonly #said = new Map<string, Map<string, string>>();

  place({ agent, message, block: index, kind, at, text }: Delta): void {
    const name = `${agent} ${message} ${index}`;
    const block = this.#blocks.get(name) ?? { text: '', complete: false };
    this.#blocks.set(name, block);
    const had = block.text.slice(at, at + text.length);
    // Claude Code writes the input's JSON anew when it is complete.
    const known = !(block.complete && kind === 'input');
    if (at > block.text.length) this.problems.push(`${name}: a gap before ${at} at ${block.text.length}`);
    else if (known && !text.startsWith(had)) this.problems.push(`${name}: other text at ${at}`);
    else if (known && block.complete && had !== text) this.problems.push(`${name}: grew after its end`);
    if (had !== '') this.repeated += 1;
    if (block.complete || at + text.length <= block.text.length) return;
    this.placed += 1;
    block.text = block.text.slice(0, at) + text;
  }

  /** A `message` fact that completes a block. */
  replace({ agent, message, block: index, data }: Fact<'message'>): void {
    const name = `${agent} ${message} ${index}`;
    const before = this.#blocks.get(name);
    if (before?.complete) this.problems.push(`${name}: completed twice`);
    const { content } = (data as unknown as { message: { content: Record<string, unknown>[] } }).message;
    const text = content.map((part) => part.text ?? part.thinking ?? '').join('');
    const isInput = content.some(({ type }) => type === 'tool_use');
    if (!isInput && !text.startsWith(before?.text ?? '')) {
      this.problems.push(`${name}: ${JSON.stringify(before?.text)} is no beginning of the complete text`);
    }
    this.#blocks.set(name, { text, complete: true });
    const messages = this.#said.get(agent) ?? new Map<string, string>();
    const said = content.map((part) => part.text ?? '').join('');
    messages.set(String(message), (messages.get(String(message)) ?? '') + said);
    this.#said.set(agent, messages);
  }

  /** The texts so far of the agent's blocks that aren't complete. */
  unfinished(agent: string): string[] {
    const blocks = [...this.#blocks].filter(([name, { complete }]) => name.startsWith(agent) && !complete);
    return blocks.map(([, { text }]) => text);
  }

  /** The text of each message of the agent, in order. */
  saidBy(agent: string): string[] {
    return [...(this.#said.get(agent)?.values() ?? [])];
  }
}
