import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  connect,
  type Encoding,
  type Gateway,
  json,
  type Permission,
  type TreeEvent,
} from '../../client/index.ts';
import { msgpackCodec } from '../../src/protocol/codec.ts';
import { type Step, script } from '../support/model-script.ts';
import { Stage } from '../support/stage.ts';

const msgpack: Encoding = {
  subprotocol: 'spawngate.v1.msgpack',
  encode: (message) => new Uint8Array(msgpackCodec.encode(message)),
  decode(frame) {
    const decoded = msgpackCodec.decode(new Uint8Array(frame as ArrayBuffer));
    if (!decoded.ok) throw new Error(decoded.message);
    return decoded.value;
  },
};

const words = 'Zoë says 🙂 and 日本語, 👩‍👩‍👧‍👦 too. ';
const touch = (file: string) => ({
  tool: 'Bash',
  input: { command: `touch ${file}`, description: 'A file' },
});
const collect = async <T>(items: AsyncIterable<T>) => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};
const facts = (events: TreeEvent[]) => events.filter((event) => 'seq' in event);

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const open = (encoding?: Encoding) =>
  connect(stage.gateway.url, { token: stage.gateway.token, ...(encoding && { encoding }) });
const start = (client: Gateway, steps: Step[], name: string) =>
  client.start({ prompt: script(steps, { name }), cwd: stage.gateway.work, name });

test.each([
  ['json', json],
  ['msgpack', msgpack],
])(
  'a task over %s gives its events, its text and its result, and asks for permission',
  async (name, encoding) => {
    using client = await open(encoding);
    const [first, second] = [words.repeat(6), words.repeat(9)];
    const task = await start(
      client,
      [
        { ...touch(`by-${name}`), say: first, chunk: 7, delayMs: 2 },
        { say: second, chunk: 1 },
      ],
      name,
    );
    const asked: Permission[] = [];
    task.onPermission((permission) => {
      asked.push(permission);
      void permission.allow();
    });
    const [events, pieces, result] = await Promise.all([collect(task), collect(task.text), task.result()]);
    expect(pieces.join('')).toBe(`${first}\n\n${second}`);
    expect(pieces.length).toBeGreaterThan(10);
    expect(result).toMatchObject({ state: 'completed', text: second, turns: 1 });
    expect(asked).toMatchObject([
      { agent: task.id, kind: 'tool', tool: 'Bash', input: touch(`by-${name}`).input },
    ]);
    expect(asked[0]?.signal.aborted).toBe(true);
    expect(existsSync(join(stage.gateway.work, `by-${name}`))).toBe(true);
    expect(facts(events)[0]).toMatchObject({ type: 'agent.created' });
    expect(events.at(-1)).toMatchObject({ type: 'agent.state', data: { state: 'completed' } });

    // Whoever comes late is told all the same.
    expect(facts(await collect(task))).toEqual(facts(events));
    expect((await collect(task.text)).join('')).toBe(`${first}\n\n${second}`);
    expect(await task.result()).toEqual(result);
  },
);

test('a permission that is denied tells Claude why, and one that another client answers is told by its signal', async () => {
  using client = await open();
  using other = await open();
  const task = await start(client, [touch('no'), touch('yes'), { say: 'Very well.' }], 'denied');
  const asked: Permission[] = [];
  const answered = Promise.withResolvers<void>();
  task.onPermission(async (permission) => {
    asked.push(permission);
    if (asked.length === 1) return void permission.deny('Not in this house.');
    permission.signal.addEventListener('abort', () => answered.resolve());
    await other.call('permission.answer', { permission: permission.id, behavior: 'allow' });
  });
  const events = await collect(task);
  await answered.promise;
  expect(JSON.stringify(events)).toContain('Not in this house.');
  expect(await task.result()).toMatchObject({ state: 'completed', text: 'Very well.' });
  await expect(asked[1]?.deny()).rejects.toMatchObject({ kind: 'request', code: 'already_answered' });
});

test('a permission that waited before one asked for it is handed out, once', async () => {
  using client = await open();
  const task = await start(client, [touch('waited'), { say: 'Done.' }], 'waited');
  for await (const event of task) if (event.type === 'permission.requested') break;
  const ids: string[] = [];
  const stop = task.onPermission(({ id }) => void ids.push(id));
  task.onPermission((permission) => void permission.allow());
  await task.result();
  expect(ids).toHaveLength(1);
  stop();
});

test('a task is interrupted, goes on with a message, and is cancelled', async () => {
  using client = await open();
  const task = await start(client, [{ hang: true }], 'interrupted');
  const states: string[] = [];
  let cancelled: string[] = [];
  for await (const event of task) {
    if (event.type !== 'agent.state') continue;
    states.push(event.data.state);
    if (event.data.state === 'running' && states.length < 4) {
      await stage.model.asked('interrupted', 0);
      expect(await task.interrupt()).toEqual({ interrupted: true });
    } else if (event.data.state === 'running') {
      cancelled = (await task.cancel('enough')).cancelled;
    } else if (event.data.state === 'idle') {
      expect(await task.send(script([{ hang: true }], { name: 'again' }))).toMatchObject({ position: 1 });
    }
  }
  expect(states).toEqual(['starting', 'running', 'idle', 'running', 'cancelled']);
  expect(cancelled).toEqual([task.id]);
  expect(await task.result()).toMatchObject({ state: 'cancelled' });
});

test('a result that is too large to be answered in one piece is whole', async () => {
  using client = await open();
  const text = 'large '.repeat(60_000);
  const task = await start(client, [{ say: text, chunk: 20_000 }], 'large');
  const events = await collect(task);
  expect(await task.result()).toMatchObject({ state: 'completed', text });
  expect(events.at(-2)).toMatchObject({ type: 'agent.result', data: { text } });
  expect(events.some((event) => 'size' in event)).toBe(false);
});

test('the wrong token is refused with the close code, not tried again', async () => {
  await expect(connect(stage.gateway.url, { token: 'wrong' })).rejects.toMatchObject({
    kind: 'refused',
    closeCode: 4501,
  });
});
