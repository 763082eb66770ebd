import type { Published } from '../../src/agents/draft.ts';
import type { NewFact } from '../../src/journal/journal.ts';
import type { Delta } from '../../src/protocol/events.ts';

/** What a chunk of output brings: more text, something to note, the end of a message; `size` in UTF-16 units. */
export type Chunk = { kind: 'text' | 'note' | 'end'; size: number }[];

/** A tree of one agent that writes messages of one block, as an agent would hand them on. */
export class Tree {
  readonly id: string;
  readonly owner: string;
  #message = 1;
  #text = '';

  constructor(id: string, owner = 'olga') {
    this.id = id;
    this.owner = owner;
  }

  /** Takes in a chunk: its facts for the commit, and all its events once those have their numbers. */
  hear(chunk: Chunk) {
    const facts: NewFact[] = [];
    const items: (number | Delta)[] = [];
    for (const { kind, size } of chunk) {
      if (kind === 'text') items.push(this.#write(size));
      else items.push(facts.push(this.#fact(kind, size)) - 1);
    }
    const events = (stored: readonly { seq: number }[]): Published[] =>
      items.map((item) => (typeof item === 'number' ? { fact: stored[item] as never } : { delta: item }));
    return { facts, events };
  }

  #write(size: number): Delta {
    const at = this.#text.length;
    const text = Array.from({ length: size }, (_, i) => String((at + i) % 10)).join('');
    this.#text += text;
    return this.#delta(at, text);
  }

  #fact(kind: 'note' | 'end', size: number): NewFact {
    const place = kind === 'end' ? { message: `m${this.#message}`, block: 0 } : {};
    if (kind === 'end') {
      this.#message += 1;
      this.#text = '';
    }
    const { id } = this;
    return { tree: id, agent: id, at: 1, ...place, type: 'message', data: JSON.stringify('x'.repeat(size)) };
  }

  #delta(at: number, text: string): Delta {
    return { type: 'delta', agent: this.id, message: `m${this.#message}`, block: 0, kind: 'text', at, text };
  }

  /** Unfinished text from position 0. */
  get live(): { tree: string; owner: string; deltas: Delta[] } {
    const deltas = this.#text === '' ? [] : [this.#delta(0, this.#text)];
    return { tree: this.id, owner: this.owner, deltas };
  }

  /** What a reader at the head must have of it. */
  get text(): [string, string][] {
    return this.#text === '' ? [] : [[`${this.id} m${this.#message} 0`, this.#text]];
  }
}
