import type { Delta } from '../src/protocol/events.ts';

/** Where a piece of text belongs. */
type Place = { agent: string; message: string; block: number };

/**
 * How much of each unfinished block is there, in UTF-16 units. A block leaves with the fact that replaces it, so no
 * more is kept than what Claude is just writing.
 */
export class LiveText {
  readonly #lengths = new Map<string, number>();

  /** What is new of it; undefined if all of it is there already. */
  place(delta: Delta): Delta | undefined {
    const name = nameOf(delta);
    const had = this.#lengths.get(name);
    // Behind a hole nothing can be placed: the complete message will bring it.
    if (delta.at > (had ?? 0)) return undefined;
    const text = delta.text.slice((had ?? 0) - delta.at);
    if (had !== undefined && text === '') return undefined;
    this.#lengths.set(name, (had ?? 0) + text.length);
    return { ...delta, at: had ?? delta.at, text };
  }

  /** The block is complete. Gives how much of it was there. */
  replace(place: Place): number {
    const name = nameOf(place);
    const had = this.#lengths.get(name) ?? 0;
    this.#lengths.delete(name);
    return had;
  }

  clear(): void {
    this.#lengths.clear();
  }
}

function nameOf({ agent, message, block }: Place): string {
  return `${agent} ${message} ${block}`;
}
