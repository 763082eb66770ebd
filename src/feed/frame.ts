import type { Published } from '../agents/draft.ts';
import type { StoredFact } from '../journal/journal.ts';
import { codecs, type Encoding } from '../protocol/codec.ts';

/** What a receiver is sent, or undefined if nothing is left of the frame for it. */
export type FrameBytes = Uint8Array | undefined;

/**
 * Consecutive events of one tree as an `events` notification: encoded once for each encoding and class of
 * receivers that somebody asks for, and shared by all of them.
 */
export class Frame {
  readonly tree: string;
  /** The last fact's seq; undefined if it holds live text only. */
  readonly through: number | undefined;
  readonly #events: readonly Published[];
  readonly #encoded = new Map<string, FrameBytes>();

  constructor(tree: string, events: readonly Published[]) {
    this.tree = tree;
    this.#events = events;
    const last = events.findLast((event) => 'fact' in event);
    this.through = last && 'fact' in last ? last.fact.seq : undefined;
  }

  bytes(encoding: Encoding, deltas: boolean): FrameBytes {
    const name = `${encoding} ${deltas}`;
    if (!this.#encoded.has(name)) this.#encoded.set(name, this.#encode(encoding, deltas));
    return this.#encoded.get(name);
  }

  #encode(encoding: Encoding, deltas: boolean): FrameBytes {
    if (encoding === 'msgpack') {
      const json = this.bytes('json', deltas);
      return json && codecs.msgpack.encode(JSON.parse(Buffer.from(json).toString('utf8')));
    }
    const events = this.#events.filter((event) => deltas || 'fact' in event);
    if (events.length === 0) return undefined;
    const list = events.map((event) =>
      'fact' in event ? factJson(event.fact) : JSON.stringify(event.delta),
    );
    const params = `{"tree":${JSON.stringify(this.tree)},"events":[${list.join(',')}]}`;
    return Buffer.from(`{"jsonrpc":"2.0","method":"events","params":${params}}`);
  }
}

/** Spliced from the journaled text, so that a line of Claude's goes out as it came. */
function factJson({ seq, head, data, size }: StoredFact): string {
  const tail = data === null ? `"data":null,"size":${size}` : `"data":${data}`;
  return `{"seq":${seq},${head},${tail}}`;
}

/** Facts in the journal's order as frames: each holds consecutive facts of one tree. */
export function framesOf(facts: readonly StoredFact[]): Frame[] {
  const groups: { tree: string; events: Published[] }[] = [];
  for (const fact of facts) {
    const last = groups.at(-1);
    if (last?.tree === fact.tree) last.events.push({ fact });
    else groups.push({ tree: fact.tree, events: [{ fact }] });
  }
  return groups.map(({ tree, events }) => new Frame(tree, events));
}
