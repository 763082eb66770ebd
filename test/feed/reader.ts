import type { Sink } from '../../src/feed/feed.ts';
import { codecs, type Encoding } from '../../src/protocol/codec.ts';
import type { Delta, Fact } from '../../src/protocol/events.ts';

type Events = { params: { tree: string; events: (Fact | Delta)[] } };

/** A client's end of a connection: it can be full, and it throws at once on what the protocol rules out. */
export class Reader implements Sink {
  readonly encoding: Encoding;
  full = false;
  readonly frames: Uint8Array[] = [];
  readonly facts: { tree: string; seq: number }[] = [];
  /** Live text by tree, message and block; a complete message takes its block's away. */
  readonly texts = new Map<string, string>();
  readonly #complete = new Set<string>();

  constructor(encoding: Encoding = 'json') {
    this.encoding = encoding;
  }

  failed(error: unknown): void {
    throw error;
  }

  send(bytes: Uint8Array): void {
    this.frames.push(bytes);
    const text = this.encoding === 'json' ? Buffer.from(bytes).toString('utf8') : bytes;
    const decoded = codecs[this.encoding].decode(text);
    if (!decoded.ok) throw new Error(decoded.message);
    const { tree, events } = (decoded.value as Events).params;
    for (const event of events) {
      if (event.type === 'delta') this.#place(tree, event);
      else this.#take(tree, event);
    }
  }

  get seqs(): number[] {
    return this.facts.map(({ seq }) => seq);
  }

  #take(tree: string, { seq, message, block }: Fact): void {
    const last = this.facts.at(-1)?.seq ?? 0;
    if (seq <= last) throw new Error(`fact ${seq} came after ${last}`);
    this.facts.push({ tree, seq });
    if (message === undefined) return;
    const name = `${tree} ${message} ${block}`;
    this.#complete.add(name);
    this.texts.delete(name);
  }

  #place(tree: string, { message, block, at, text }: Delta): void {
    const name = `${tree} ${message} ${block}`;
    const have = this.texts.get(name) ?? '';
    if (this.#complete.has(name)) throw new Error(`live text of ${name} came after its fact`);
    if (at > have.length) throw new Error(`a hole in ${name}: at ${at}, but ${have.length} are there`);
    this.texts.set(name, have + text.slice(have.length - at));
  }
}
