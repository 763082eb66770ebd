import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { codecs } from '../../src/protocol/codec.ts';
import type { Delta, Fact } from '../../src/protocol/events.ts';
import type { TestClient } from '../support/client.ts';
import { SocketStage } from './stage.ts';

type Message = {
  result?: { verdict?: string };
  params?: { events?: (Fact | Delta)[] };
};

/** A reader of one tree that has a cursor anew with each subscription, and throws on a hole or a double. */
class Follower {
  last = 0;
  facts = 0;
  readonly texts = new Map<string, string>();
  readonly #cursors: number[];

  constructor(cursors: readonly number[]) {
    this.#cursors = [...cursors];
  }

  take({ result, params }: Message): void {
    if (result?.verdict) this.last = this.#cursors.shift() ?? Number.NaN;
    for (const event of params?.events ?? []) {
      if (event.type === 'delta') this.#place(event);
      else this.#count(event);
    }
  }

  #count({ seq }: Fact): void {
    if (seq !== this.last + 1) throw new Error(`fact ${seq} came after ${this.last}`);
    this.last = seq;
    this.facts += 1;
  }

  #place({ message, block, at, text }: Delta): void {
    const name = `${message} ${block}`;
    const have = this.texts.get(name) ?? '';
    if (at > have.length) throw new Error(`a hole before ${at} of ${name}`);
    this.texts.set(name, have + text.slice(have.length - at));
  }
}

/** Reads all frames of a client in order. */
function follow(client: TestClient, cursors: readonly number[]): Follower {
  const follower = new Follower(cursors);
  for (const frame of client.frames) {
    const decoded = codecs[client.encoding].decode(frame);
    if (decoded.ok) follower.take(decoded.value as Message);
  }
  return follower;
}

test('a thousand subscriptions while events are written without pause: no hole, no double', async () => {
  await using stage = await SocketStage.open();
  const { journal } = stage.feeds;
  const clients = await Promise.all(
    Array.from({ length: 20 }, (_, i) => stage.connect(i % 2 ? 'json' : 'msgpack')),
  );
  let subscribing = true;
  const writing = (async () => {
    while (subscribing) {
      await stage.write();
      await turn();
    }
  })();
  const subscribed = clients.map(async (client) => {
    const cursors: number[] = [];
    for (let n = 0; n < 50; n += 1) {
      const seq = n % 10 ? (client.facts.at(-1)?.seq ?? 0) : 0;
      cursors.push(seq);
      const after = seq > 0 ? { epoch: journal.epoch, seq } : 'start';
      expect(await client.call('tree.subscribe', { tree: 'a', after })).toMatchObject({ verdict: 'ok' });
    }
    return cursors;
  });
  const cursors = await Promise.all(subscribed);
  subscribing = false;
  await writing;
  await stage.write();
  const { head } = journal;
  for (const [i, client] of clients.entries()) {
    await client.until(() => client.facts.at(-1)?.seq === head);
    const followed = follow(client, cursors[i] ?? []);
    expect(followed.last).toBe(head);
    expect(followed.facts).toBeGreaterThanOrEqual(head);
    expect([...followed.texts]).toEqual(stage.tree.text.map(([name, text]) => [name.slice(2), text]));
  }
  console.info(`${head} facts were written meanwhile`);
});
