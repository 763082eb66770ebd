import { expect, test } from 'vitest';
import type { Journal } from '../../src/journal/journal.ts';
import { closeCodes } from '../../src/protocol/close-codes.ts';
import { closeOverOpenCalls, limits } from '../../src/protocol/limits.ts';
import { Tree } from '../feed/tree.ts';
import { knock } from './knock.ts';
import { SocketStage } from './stage.ts';

/** A stage whose `agent.get` and `permission.list` are never answered. */
async function stuckStage() {
  const stage = await SocketStage.open();
  stage.feeds.journal.agent = () => new Promise(() => {});
  return stage;
}

test('overloaded: over 64 calls are open; the ones before it stay so', async () => {
  await using stage = await stuckStage();
  const client = await stage.connect();
  for (let n = 0; n < limits.maxOpenCalls; n += 1) {
    client.call('agent.get', { agent: 'a' }).catch(() => {});
  }
  await expect(client.call('ping', {})).rejects.toMatchObject({
    code: 'overloaded',
    data: { code: 'overloaded', limit: limits.maxOpenCalls, retryable: true },
  });
  const other = await stage.connect();
  expect(await other.call('ping', {})).toHaveProperty('at');
});

test('4503: over 256 calls are open at once', async () => {
  await using stage = await stuckStage();
  const client = await stage.connect();
  await client.welcome();
  // In one write, so that none is answered before the next one comes.
  const raw = (client.socket as unknown as { _socket: { cork(): void; uncork(): void } })._socket;
  raw.cork();
  for (let n = 0; n <= closeOverOpenCalls; n += 1) client.call('ping', {}).catch(() => {});
  raw.uncork();
  await expect(client.until(() => false)).rejects.toThrow();
  expect(client.closed).toEqual({ code: 4503, reason: closeCodes[4503].reason });
});

test('rate_limited: over 500 calls a second', async () => {
  await using stage = await SocketStage.open();
  const client = await stage.connect();
  const refused = async () => {
    for (;;) {
      const calls = Array.from({ length: 50 }, () => client.call('ping', {}).catch((error) => error));
      const failed = (await Promise.all(calls)).find((answer) => answer instanceof Error);
      if (failed) return failed;
    }
  };
  expect(await refused()).toMatchObject({
    code: 'rate_limited',
    data: { limit: limits.maxCallsPerSecond, retryAfterMs: expect.any(Number), retryable: true },
  });
  const other = await stage.connect();
  expect(await other.call('ping', {})).toHaveProperty('at');
});

test('refused, rule maxSubscriptions: more trees than one connection may follow', async () => {
  const trees = Array.from({ length: limits.maxSubscriptions + 1 }, (_, i) => new Tree(`tree ${i}`));
  await using stage = await SocketStage.open({ trees });
  const client = await stage.connect();
  const subscribe = ({ id }: Tree) => client.call('tree.subscribe', { tree: id, after: 'start' });
  const [first, ...rest] = trees as [Tree, ...Tree[]];
  for (const tree of rest) await subscribe(tree);
  const { maxSubscriptions } = limits;
  await expect(subscribe(first)).rejects.toMatchObject({
    data: { code: 'refused', rule: 'maxSubscriptions', limit: maxSubscriptions },
  });
  // One that it has may be replaced, or given up for another.
  await subscribe(rest[0] as Tree);
  await client.call('tree.unsubscribe', { tree: 'tree 1' });
  await subscribe(first);
});

test('internal: a fault of ours is answered with the word under which the log has it, and the socket lives', async () => {
  const now = () => {
    throw new Error('the clock has stopped');
  };
  await using stage = await SocketStage.open({ world: { now } });
  const client = await stage.connect();
  const failure = await client.call('ping', {}).catch((error) => error);
  expect(failure).toMatchObject({ code: 'internal', data: { code: 'internal', ref: expect.any(String) } });
  expect(failure.message).not.toContain('clock');
  expect(stage.logged).toEqual([expect.stringContaining(failure.data.ref)]);
  expect(await client.call('tree.unsubscribe', { tree: 'a' })).toEqual({});
});

test('1013: what a subscriber missed can’t be read from the journal', async () => {
  const unreadable = () => Promise.reject(new Error('the disk is gone'));
  const reading = (journal: Journal) =>
    new Proxy(journal, {
      get: (target, name) => (name === 'read' ? unreadable : Reflect.get(target, name, target)),
    });
  await using stage = await SocketStage.open({ reading });
  const client = await stage.connect();
  await client.call('tree.subscribe', { tree: 'a', after: 'start' });
  await expect(client.until(() => false)).rejects.toThrow();
  expect(client.closed).toEqual({ code: 1013, reason: closeCodes[1013].reason });
  expect(stage.logged).toEqual([expect.stringContaining('a feed could not be read')]);
});

test('1013: more connections than the gateway holds; one that goes makes room', async () => {
  await using stage = await SocketStage.open();
  const clients = await Promise.all(Array.from({ length: limits.maxConnections }, () => stage.connect()));
  const headers = { authorization: `Bearer ${stage.tokens.token}` };
  expect(await knock(stage.url, { headers })).toMatchObject({ code: 1013, reason: closeCodes[1013].reason });
  const gone = clients[0] as (typeof clients)[0];
  const left = new Promise((resolve) => stage.peers[0]?.once('close', resolve));
  await gone.close();
  await left;
  expect(await knock(stage.url, { headers })).toHaveProperty('welcome');
});
