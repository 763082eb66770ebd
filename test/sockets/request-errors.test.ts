import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Params } from '../../src/protocol/methods.ts';
import { TestClient } from '../support/client.ts';
import { asks, play } from '../support/fake-acts.ts';
import { fakeClaude, playTask } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';
import type { TestTask } from '../support/task.ts';

/** Further tokens, by what their principals may do. */
const tokens = {
  reader: { owner: 'local', scopes: ['read'] },
  stranger: { owner: 'stranger', scopes: ['read', 'start', 'answer'] },
};

let stage: Stage;
let client: TestClient;
/** An agent in an open turn. */
let busy: TestTask;
/** One that has ended. */
let ended: TestTask;
beforeAll(async () => {
  stage = await Stage.open({ claude: fakeClaude });
  const stored = Object.entries(tokens).map(([name, rest]) => ({
    name,
    ...rest,
    sha256: createHash('sha256').update(`token-of-${name}`).digest('hex'),
  }));
  writeFileSync(join(stage.gateway.dataDir, 'tokens.json'), JSON.stringify(stored), { mode: 0o600 });
  await stage.gateway.kill('SIGTERM');
  await stage.gateway.start();
  client = await stage.connect();
  busy = await playTask(stage, [{ wait: true }], { keepOpen: true });
  await busy.client.state(busy.agent, 'running');
  ended = await playTask(stage, []);
  await ended.client.call('task.cancel', { agent: ended.agent });
  await ended.end();
});
afterAll(async () => {
  await busy?.client.call('task.cancel', { agent: busy.agent });
  await stage?.[Symbol.asyncDispose]();
});

const connectAs = (name: keyof typeof tokens) => TestClient.connect(stage.gateway.url, `token-of-${name}`);
const start = (params: Partial<Params<'task.start'>> = {}) => ({
  cwd: stage.gateway.work,
  prompt: play([{ wait: true }]),
  ...params,
});
const error = (code: string, data: object = {}) => ({ code, data: { code, ...data } });

/** The answer to a frame that is sent as it stands. */
async function answerTo(frame: string): Promise<Record<string, unknown>> {
  const seen = client.frames.length;
  client.socket.send(frame);
  const answered = await client.until(() =>
    client.frames.slice(seen).find((one) => one.toString().includes('"error"')),
  );
  return JSON.parse(answered.toString());
}

describe('invalid', () => {
  test.each([
    ['what is not JSON', '{', -32700, null],
    ['what is no JSON-RPC', '[1]', -32600, null],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, null],
    ['another version', '{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7],
    ['a member of its own', '{"jsonrpc":"2.0","id":"x","method":"ping","more":1}', -32600, 'x'],
    ['an unknown method', '{"jsonrpc":"2.0","id":7,"method":"task.explode"}', -32601, 7],
    ['a method of JavaScript’s', '{"jsonrpc":"2.0","id":7,"method":"constructor"}', -32601, 7],
    ['wrong parameters', '{"jsonrpc":"2.0","id":7,"method":"agent.get","params":{"agent":7}}', -32602, 7],
    ['unknown parameters', '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1}}', -32602, 7],
  ])('is %s', async (_, frame, code, id) => {
    expect(await answerTo(frame)).toEqual({
      jsonrpc: '2.0',
      id,
      error: { code, message: expect.stringMatching(/./), data: { code: 'invalid' } },
    });
  });
});

describe('forbidden', () => {
  test('names the scope that is missing', async () => {
    const reader = await connectAs('reader');
    await expect(reader.call('task.start', start())).rejects.toMatchObject(
      error('forbidden', { scope: 'start' }),
    );
    const answer = { permission: 'p', behavior: 'allow' } as const;
    await expect(reader.call('permission.answer', answer)).rejects.toMatchObject(
      error('forbidden', { scope: 'answer' }),
    );
    // Another token of the same owner may watch.
    expect(await reader.call('agent.get', { agent: busy.agent })).toMatchObject({ state: 'running' });
    await reader.close();
  });
});

describe('not_found', () => {
  test('is an unknown id and a foreign one alike', async () => {
    const stranger = await connectAs('stranger');
    const { agent } = busy;
    const unknown = '00000000-0000-4000-8000-000000000000';
    const failure = async (call: Promise<unknown>, id: string) => {
      const { code, data, message } = await call.then(
        () => ({ code: 'none', data: {}, message: '' }),
        (reason) => reason,
      );
      return JSON.stringify({ code, data, message }).replaceAll(id, 'ID');
    };
    const calls = (id: string) => [
      stranger.call('agent.get', { agent: id }),
      stranger.call('agent.result', { agent: id }),
      stranger.call('agent.list', { tree: id }),
      stranger.call('tree.subscribe', { tree: id }),
      stranger.call('tree.get', { tree: id }),
      stranger.call('permission.list', { tree: id }),
      stranger.call('task.send', { agent: id, content: 'x' }),
      stranger.call('task.interrupt', { agent: id }),
      stranger.call('task.cancel', { agent: id }),
      stranger.call('task.close', { agent: id }),
      stranger.call('task.configure', { agent: id, model: 'x' }),
      stranger.call('task.resume', { agent: id }),
    ];
    const [foreign, missing] = [agent, unknown].map((id) => calls(id).map((call) => failure(call, id)));
    expect(await Promise.all(foreign ?? [])).toEqual(await Promise.all(missing ?? []));
    for (const told of await Promise.all(foreign ?? [])) expect(told).toContain('"code":"not_found"');
    const { seq } = busy.of('agent.state')[0] ?? { seq: 0 };
    await expect(stranger.call('event.get', { seq })).rejects.toMatchObject(error('not_found'));
    await expect(client.call('event.get', { seq: 1_000_000 })).rejects.toMatchObject(error('not_found'));
    const { agents } = await stranger.call('tree.get', { tree: '*' });
    expect(agents).toEqual([]);
    await stranger.close();
  });
});

describe('what the state rules out', () => {
  test('not_running: a message, an interrupt, a close or a setting for an agent that has ended', async () => {
    const { agent } = ended;
    const calls = [
      client.call('task.send', { agent, content: 'x' }),
      client.call('task.interrupt', { agent }),
      client.call('task.close', { agent }),
      client.call('task.configure', { agent, model: 'x' }),
    ];
    for (const call of calls) {
      await expect(call).rejects.toMatchObject(error('not_running', { state: 'cancelled' }));
    }
  });

  test('conflict: the result of an agent at work, and its resumption', async () => {
    const { agent } = busy;
    await expect(client.call('agent.result', { agent })).rejects.toMatchObject(
      error('conflict', { state: 'running' }),
    );
    await expect(client.call('task.resume', { agent })).rejects.toMatchObject(error('conflict'));
  });

  test('stale_turn: an interrupt of another turn than the open one', async () => {
    await expect(busy.interrupt(99)).rejects.toMatchObject(error('stale_turn', { turn: 1 }));
    expect(await busy.get()).toMatchObject({ state: 'running', turn: 1 });
  });

  test('queue_full: more messages than wait for one agent', async () => {
    const task = await playTask(stage, [{ wait: true }], { keepOpen: true });
    for (let n = 1; n <= 100; n += 1) expect((await task.send(`message ${n}`)).position).toBe(n);
    await expect(task.send('one more')).rejects.toMatchObject(
      error('queue_full', { limit: 100, retryable: true }),
    );
    await task.client.call('task.cancel', { agent: task.agent });
    await task.end();
    expect(task.of('message.dropped')).toHaveLength(100);
  });
});

describe('a permission', () => {
  const ask = { lines: [asks('ask-1', 'Bash', { command: 'touch x' })] };
  const deny = { behavior: 'deny' } as const;

  test('already_answered: another answer came first', async () => {
    const task = await playTask(stage, [ask, { wait: true }]);
    const asked = await task.allow();
    await expect(task.answer(asked, deny)).rejects.toMatchObject(
      error('already_answered', { outcome: 'allowed', by: 'local' }),
    );
    expect(await task.answer(asked, { behavior: 'allow' })).toEqual({ outcome: 'allowed' });
    await task.client.call('task.cancel', { agent: task.agent });
    await task.end();
  });

  test('withdrawn: it died with its turn', async () => {
    const task = await playTask(stage, [ask, { wait: true }]);
    const asked = await task.asked();
    await task.client.call('task.cancel', { agent: task.agent });
    await task.end();
    await expect(task.answer(asked, deny)).rejects.toMatchObject(error('withdrawn'));
  });

  test('expired: its deadline passed', async () => {
    const task = await playTask(stage, [ask, { wait: true }], { limits: { permissionMinutes: 0.001 } });
    const asked = await task.asked();
    await task.resolved(asked);
    await expect(task.answer(asked, deny)).rejects.toMatchObject(error('expired', { by: 'gateway' }));
    await task.client.call('task.cancel', { agent: task.agent });
    await task.end();
  });
});

test('too_large: more than the system hands to a process', async () => {
  const env = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`V${n}`, 'x'.repeat(32_000)]));
  await expect(client.call('task.start', start({ env }))).rejects.toMatchObject(
    error('too_large', { limit: 1024 * 1024 }),
  );
});

test('key_reused: a key with other parameters; with the same ones it gives the first outcome', async () => {
  const first = await client.call('task.start', start({ key: 'k' }));
  expect(await client.call('task.start', start({ key: 'k' }))).toEqual(first);
  await expect(client.call('task.start', start({ key: 'k', name: 'other' }))).rejects.toMatchObject(
    error('key_reused', { key: 'k' }),
  );
  // A key belongs to a method.
  expect(await client.call('task.cancel', { agent: first.agent, key: 'k' })).toEqual({
    cancelled: [first.agent],
  });
});

describe('refused, with the rule', () => {
  test.each<[string, () => Partial<Params<'task.start'>>]>([
    ['root', () => ({ cwd: '/' })],
    ['cwd_missing', () => ({ cwd: join(stage.gateway.work, 'missing') })],
    ['mode', () => ({ skipPermissions: true })],
    ['mode', () => ({ permissionMode: 'bypass' })],
    ['commands', () => ({ prompt: '/clear' })],
    ['not_served', () => ({ limits: { maxCostUsd: 1 } })],
  ])('%s', async (rule, params) => {
    await expect(client.call('task.start', start(params()))).rejects.toMatchObject(
      error('refused', { rule }),
    );
  });
});

test('unavailable: nothing can be journaled; once there is room the same key tries again', async () => {
  const limitFiles = (bytes: string) =>
    execFileSync('prlimit', ['--pid', String(stage.gateway.pid), `--fsize=${bytes}:unlimited`]);
  const call = start({ key: 'disk' });
  limitFiles('0');
  try {
    await expect(client.call('task.start', call)).rejects.toMatchObject(
      error('unavailable', { retryable: true }),
    );
    expect(await client.call('agent.get', { agent: busy.agent })).toMatchObject({ state: 'running' });
  } finally {
    limitFiles('unlimited');
  }
  const { agent } = await client.call('task.start', call);
  await client.call('task.cancel', { agent });
});
