import { expect, test } from 'vitest';
import type { Permission } from '../../client/index.ts';
import { fact, ScriptedGateway, subscribed } from './scripted-gateway.ts';
import { eagerClock } from './steps.ts';

const agent = (state: string, more: object = {}) => ({ id: 'a', tree: 'a', state, ...more });
const snapshot = (seq: number, state: string, permissions: object[] = [], more: object = {}) => ({
  ...{ seq, agents: [agent(state, more)], permissions, queued: [] },
});
const state = (seq: number, name: string, more: object = {}) =>
  fact(seq, 'agent.state', { data: { state: name, ...more } });

/** A gateway on which one task has been started. */
async function withTask(answers: Record<string, object>) {
  const gateway = await ScriptedGateway.open();
  gateway.answer = ({ method }) => {
    const result = answers[method];
    if (result) return { result };
    return method === 'task.start' ? { result: { agent: 'a', tree: 'a', state: 'starting' } } : subscribed();
  };
  const client = await gateway.connect({ clock: eagerClock });
  return { gateway, answers, task: await client.start({ prompt: 'x' }) };
}

test('a permission of the snapshot whose input is too large is handed out whole; a reset withdraws what is gone', async () => {
  const input = { command: 'x'.repeat(100) };
  const json = JSON.stringify({
    permission: 'p1',
    tool: 'Bash',
    kind: 'tool',
    path: ['a'],
    input,
    suggestions: [],
  });
  const view = {
    permission: 'p1',
    tool: 'Bash',
    kind: 'tool',
    path: ['a'],
    input: null,
    size: 9,
    seq: 4,
    agent: 'a',
  };
  const { gateway, answers, task } = await withTask({
    'tree.get': snapshot(5, 'running', [view]),
    'event.get': { from: 0, to: json.length, size: json.length, json },
  });
  await using _ = gateway;
  const asked = Promise.withResolvers<Permission>();
  task.onPermission(asked.resolve);
  const permission = await asked.promise;
  expect(permission).toMatchObject({ id: 'p1', agent: 'a', tool: 'Bash', input });
  expect(gateway.asked.find(({ method }) => method === 'event.get')?.params).toEqual({ seq: 4, from: 0 });

  const gone = new Promise((resolve) => permission.signal.addEventListener('abort', resolve));
  answers['tree.subscribe'] = {
    epoch: 'e2',
    head: 1,
    verdict: 'reset',
    reason: 'epoch',
    snapshot: snapshot(1, 'running'),
  };
  gateway.cut();
  await gone;
});

test('it ends with a snapshot in which its agent has ended, but not with an end that will be resumed', async () => {
  const result = { agent: 'a', state: 'completed', text: 'Done.', seq: 9 };
  const { gateway, answers, task } = await withTask({
    'tree.get': snapshot(1, 'interrupted', [], { resuming: true }),
    'agent.result': result,
  });
  await using _ = gateway;
  const ended = task.result();
  await gateway.request('tree.subscribe');
  gateway.send(gateway.events('a', state(2, 'running'), state(3, 'interrupted', { resuming: true })));
  gateway.send(gateway.events('a', { ...state(4, 'completed'), agent: 'b' }));
  // Two rounds later a call for the result would have been seen.
  await task.interrupt();
  await task.interrupt();
  answers['tree.subscribe'] = {
    epoch: 'e2',
    head: 1,
    verdict: 'reset',
    reason: 'epoch',
    snapshot: snapshot(9, 'completed'),
  };
  expect(gateway.asked.map(({ method }) => method)).not.toContain('agent.result');
  gateway.cut();
  expect(await ended).toEqual(result);
});

test('a fault of the program in its own callback is not swallowed', async () => {
  const view = { permission: 'p1', tool: 'Bash', kind: 'tool', path: ['a'], input: {}, seq: 4, agent: 'a' };
  const { gateway, task } = await withTask({ 'tree.get': snapshot(5, 'running', [view]) });
  await using _ = gateway;
  const thrown = new Promise((resolve) => process.once('unhandledRejection', resolve));
  const others = process.listeners('unhandledRejection').slice(0, -1);
  for (const other of others) process.off('unhandledRejection', other as never);
  task.onPermission(() => Promise.reject(new Error('my own bug')));
  expect(await thrown).toMatchObject({ message: 'my own bug' });
  for (const other of others) process.on('unhandledRejection', other as never);
});
