import { expect, test } from 'vitest';
import type { Fact, TreeEvent } from '../../client/index.ts';
import { type Asked, delta, fact, ScriptedGateway, subscribed } from './scripted-gateway.ts';
import { eagerClock, SteppedClock, take, watchStates } from './steps.ts';

const snapshot = (seq: number) => ({ seq, agents: [], permissions: [], queued: [] });
const seqs = (events: TreeEvent[]) => events.map((event) => (event as Fact).seq);
const answers =
  (more: Record<string, (asked: Asked) => object> = {}) =>
  (asked: Asked) => {
    const result = more[asked.method]?.(asked);
    if (result) return { result };
    if (asked.method === 'tree.get') return { result: snapshot(0) };
    return subscribed();
  };

async function follow(gateway: ScriptedGateway, options: object = {}) {
  const client = await gateway.connect({ clock: eagerClock });
  const events = client.subscribe('t', { after: 'start', ...options });
  return { client, events };
}

test('by default a reader is given a snapshot, then what follows its seq', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = answers({ 'tree.get': () => snapshot(7) });
  const { events } = await follow(gateway, { after: 'now' });
  expect(await take(events, 1)).toEqual([{ type: 'snapshot', snapshot: snapshot(7) }]);
  const { params } = await gateway.request('tree.subscribe');
  expect(params).toEqual({ tree: 't', after: { epoch: 'e1', seq: 7 }, deltas: true });
  gateway.send(gateway.events('t', fact(7), fact(8)));
  expect(seqs(await take(events, 1))).toEqual([8]);
});

test('the events of the same packet as the answer are not lost', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = ({ id }) => {
    gateway.send({ id, ...subscribed() }, gateway.events('t', fact(1)), gateway.events('t', fact(2)));
    return undefined;
  };
  const { events } = await follow(gateway);
  expect(seqs(await take(events, 2))).toEqual([1, 2]);
});

test('after a cut it goes on from its cursor under its old epoch, and drops what it has', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = (asked) => (asked.method === 'ping' ? undefined : answers()(asked));
  const { client, events } = await follow(gateway);
  const first = take(events, 2);
  await gateway.request('tree.subscribe');
  gateway.send(gateway.events('t', fact(3), fact(5)));
  expect(seqs(await first)).toEqual([3, 5]);
  gateway.welcome = { epoch: 'e2' };
  gateway.cut();
  expect((await gateway.request('tree.subscribe', 2)).params.after).toEqual({ epoch: 'e1', seq: 5 });
  gateway.send(gateway.events('t', fact(3), fact(5), fact(6)), gateway.events('t', fact(6), fact(9)));
  expect(seqs(await take(events, 2))).toEqual([6, 9]);
  const ping = client.call('ping', {});
  const { id } = await gateway.request('ping');
  gateway.send(gateway.heartbeat(20), { id, result: {} });
  await ping;
  gateway.cut();
  expect((await gateway.request('tree.subscribe', 3)).params.after).toEqual({ epoch: 'e2', seq: 20 });
});

test('a heartbeat moves the cursor on, but not of a reader that is not fed yet', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = answers();
  const { client, events } = await follow(gateway, { after: { epoch: 'e0', seq: 4 } });
  const next = events.next();
  await gateway.request('tree.subscribe');
  gateway.answer = (asked) => (asked.method === 'ping' ? { result: {} } : undefined);
  const late = client.subscribe('t', { after: 'start' });
  const nextOfLate = late.next();
  const { id } = await gateway.request('tree.subscribe', 2);
  gateway.send(gateway.heartbeat(30), gateway.events('t', fact(31)));
  expect(seqs([(await next).value as TreeEvent])).toEqual([31]);
  gateway.send({ id, ...subscribed() }, gateway.events('t', fact(1)));
  expect(seqs([(await nextOfLate).value as TreeEvent])).toEqual([1]);

  gateway.answer = answers();
  gateway.cut();
  expect((await gateway.request('tree.subscribe', 3)).params.after).toEqual({ epoch: 'e1', seq: 1 });
});

test.each(['epoch', 'trimmed', 'ahead'] as const)(
  'a reset (%s) delivers the snapshot, and what follows it',
  async (reason) => {
    await using gateway = await ScriptedGateway.open();
    gateway.answer = answers();
    const { events } = await follow(gateway);
    const first = take(events, 2);
    await gateway.request('tree.subscribe');
    gateway.send(gateway.events('t', fact(90), delta(0, 'half a sen')));
    await first;
    gateway.answer = answers({
      'tree.subscribe': () => ({ epoch: 'e9', head: 3, verdict: 'reset', reason, snapshot: snapshot(3) }),
    });
    gateway.welcome = { epoch: 'e9' };
    gateway.cut();
    expect(await take(events, 1)).toEqual([{ type: 'snapshot', reason, snapshot: snapshot(3) }]);
    gateway.send(gateway.events('t', fact(3), fact(4), delta(0, 'half')));
    expect(await take(events, 2)).toEqual([fact(4), delta(0, 'half')]);
  },
);

test('live text is placed by position: what is had is skipped, also after a cut', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = answers();
  const { events } = await follow(gateway);
  const first = take(events, 3);
  await gateway.request('tree.subscribe');
  const tool = { kind: 'input', block: 1, tool: { id: 'x', name: 'Bash' } };
  gateway.send(gateway.events('t', delta(0, 'Hel'), delta(0, 'Hello'), delta(2, 'llo'), delta(0, '', tool)));
  expect(await first).toEqual([delta(0, 'Hel'), delta(3, 'lo'), delta(0, '', tool)]);
  gateway.cut();
  await gateway.request('tree.subscribe', 2);
  const message = fact(2, 'message', { message: 'm1', block: 0, data: { type: 'assistant' } });
  gateway.send(
    // A hole can't be filled; the complete message will.
    gateway.events('t', delta(0, 'Hello wor'), delta(12, '!'), delta(9, 'ld'), delta(0, '', tool)),
    gateway.events('t', message, delta(0, 'next', { message: 'm2' })),
  );
  expect(await take(events, 4)).toEqual([
    delta(5, ' wor'),
    delta(9, 'ld'),
    message,
    delta(0, 'next', { message: 'm2' }),
  ]);
});

test('without deltas none come, even if another reader of the tree has them', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = answers();
  const { client, events } = await follow(gateway, { deltas: false });
  const bare = events.next();
  await gateway.request('tree.subscribe');
  const full = client.subscribe('t', { after: 'start' }).next();
  expect((await gateway.request('tree.subscribe', 2)).params.deltas).toBe(true);
  expect((await gateway.request('tree.subscribe')).params.deltas).toBe(false);
  gateway.send(gateway.events('t', delta(0, 'x'), fact(1)));
  expect((await full).value).toEqual(delta(0, 'x'));
  expect((await bare).value).toEqual(fact(1));
});

test('readers of one tree share one subscription, from the oldest cursor; the last one ends it', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = answers();
  const { client, events } = await follow(gateway, { after: { epoch: 'e1', seq: 50 } });
  const old = client.subscribe('t', { after: { epoch: 'e1', seq: 10 } });
  const [one, other] = [take(events, 1), take(old, 2)];
  expect((await gateway.request('tree.subscribe', 2)).params.after).toEqual({ epoch: 'e1', seq: 10 });
  gateway.send(gateway.events('t', fact(40), fact(60)));
  expect([seqs(await one), seqs(await other)]).toEqual([[60], [40, 60]]);
  await events.return();
  await client.call('ping', {});
  expect(gateway.asked.map(({ method }) => method)).not.toContain('tree.unsubscribe');
  await old.return();
  expect((await gateway.request('tree.unsubscribe')).params).toEqual({ tree: 't' });
  const again = client.subscribe('t', { after: 'start' }).next();
  await gateway.request('tree.subscribe', 3);
  gateway.send(gateway.events('t', fact(1)));
  expect((await again).value).toEqual(fact(1));
});

test('a reader that is given up while the gateway is being asked leaves no subscription behind', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = () => undefined;
  const life = new AbortController();
  const { events } = await follow(gateway, { signal: life.signal });
  const next = events.next();
  const { id } = await gateway.request('tree.subscribe');
  life.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
  gateway.send({ id, ...subscribed() });
  await gateway.request('tree.unsubscribe');
});

test('a slow reader costs a cursor, not memory: it is left behind when full, and fetched when it has drained', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = answers();
  const { client, events } = await follow(gateway);
  const first = take(events, 1);
  await gateway.request('tree.subscribe');
  const big = (seq: number) => fact(seq, 'agent.stderr', { data: { lines: ['x'.repeat(900_000)] } });
  for (let seq = 1; seq <= 7; seq += 1) gateway.send(gateway.events('t', big(seq)));
  expect(seqs(await first)).toEqual([1]);
  await gateway.request('tree.unsubscribe');
  // What was under way when it left is dropped, and comes again.
  expect(seqs(await take(events, 3))).toEqual([2, 3, 4]);
  const { params } = await gateway.request('tree.subscribe', 2);
  expect(params.after).toEqual({ epoch: 'e1', seq: 6 });
  for (let seq = params.after.seq; seq <= 8; seq += 1) gateway.send(gateway.events('t', big(seq)));
  expect(seqs(await take(events, 4))).toEqual([5, 6, 7, 8]);
  client.close();
});

test('a large event is fetched unasked, in its place, over a cut', async () => {
  await using gateway = await ScriptedGateway.open();
  const data = { lines: ['a'.repeat(10), 'b'] };
  const json = JSON.stringify(data);
  gateway.answer = ({ method, params: { from = 0 } }) => {
    if (method !== 'event.get') return subscribed();
    if (from === 10 && gateway.connections === 1) {
      gateway.cut();
      return undefined;
    }
    const to = Math.min(from + 10, json.length);
    return { result: { from, to, size: json.length, json: json.slice(from, to) } };
  };
  const { events } = await follow(gateway);
  const three = take(events, 3);
  await gateway.request('tree.subscribe');
  const cut = { seq: 2, at: 1, agent: 'a', type: 'agent.stderr', data: null, size: json.length };
  gateway.send(gateway.events('t', fact(1), cut, fact(3)));
  expect(await three).toEqual([fact(1), fact(2, 'agent.stderr', { data }), fact(3)]);
});

test('what the gateway refuses ends the reader with its error; what is only now impossible is asked again', async () => {
  await using gateway = await ScriptedGateway.open();
  const refusal = (code: 'not_found' | 'unavailable', more: object = {}) => ({
    error: { code: -32000, message: code, data: { code, ...more } },
  });
  gateway.answer = () => refusal('unavailable', { retryable: true });
  const clock = new SteppedClock();
  const watch = watchStates();
  const client = await gateway.connect({ clock, onState: watch.onState });
  const next = client.subscribe('t', { after: 'start' }).next();
  const { id } = await gateway.request('tree.subscribe');
  await client.call('ping', {}).catch(() => {});
  gateway.answer = () => refusal('not_found');
  clock.step(250);
  await expect(next).rejects.toMatchObject({ kind: 'request', code: 'not_found' });
  expect((await gateway.request('tree.subscribe', 2)).id).toBeGreaterThan(id);
});

test('facts that nobody knows yet pass through', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = answers();
  const { events } = await follow(gateway);
  const one = take(events, 1);
  await gateway.request('tree.subscribe');
  const unheard = fact(1, 'agent.dreamt', { data: null });
  gateway.send({ method: 'weather', params: {} }, gateway.events('t', unheard));
  expect(await one).toEqual([unheard]);
});

test('`*` is given what a tree of its own does not claim, and nothing that a tree left under way', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = answers();
  const { client, events: all } = await follow(gateway);
  const star = client.subscribe('*', { after: 'start' });
  const first = take(star, 1);
  await gateway.request('tree.subscribe');
  gateway.answer = () => undefined;
  const next = all.next();
  const own = await gateway.request('tree.subscribe', 2);
  expect([own.params.tree, (await gateway.request('tree.subscribe')).params.tree]).toEqual(['t', '*']);
  gateway.send(gateway.events('t', fact(1)));
  expect(seqs(await first)).toEqual([1]);
  gateway.send({ id: own.id, ...subscribed() }, gateway.events('t', fact(1), fact(50)));
  expect(seqs([(await next).value as TreeEvent])).toEqual([1]);
  await all.return();
  const { id } = await gateway.request('tree.unsubscribe');
  gateway.send(gateway.events('t', fact(51)), { id, result: {} }, gateway.events('u', fact(49)));
  expect(seqs(await take(star, 1))).toEqual([49]);
});

test('a question that a cut leaves open is asked again', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.answer = () => undefined;
  const { events } = await follow(gateway);
  const one = take(events, 1);
  await gateway.request('tree.subscribe');
  gateway.answer = answers();
  gateway.cut();
  await gateway.request('tree.subscribe', 2);
  gateway.send(gateway.events('t', fact(1)));
  expect(seqs(await one)).toEqual([1]);
});
