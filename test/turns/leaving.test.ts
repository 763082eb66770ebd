import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestClient } from '../support/client.ts';
import { Stage } from '../support/stage.ts';
import { longText, TestTask } from '../support/task.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('an open agent that is idle for too long is completed, and can be resumed', async () => {
  const name = 'idle';
  const task = await TestTask.start(stage, [{ say: 'One.' }, { say: 'Two.' }], {
    name,
    keepOpen: true,
    limits: { idleMinutes: 0.005 },
  });
  const { data, at } = await task.end();
  expect(data).toEqual({ state: 'completed', detail: expect.stringContaining('Idle for 0.005 minutes') });
  expect(at - (await task.idle()).at).toBeGreaterThanOrEqual(300);
  await task.client.call('task.resume', { agent: task.agent, prompt: 'Go on.' });
  await task.client.until(() => task.states().filter((state) => state === 'completed')[1]);
  expect(await task.result()).toMatchObject({ text: 'Two.', turns: 2 });
  expect(stage.model.stepsAsked(name)).toEqual([0, 1]);
});

test('a task that is bound to its subscribers is cancelled once the last of them is gone for so long', async () => {
  const watcher = await stage.connect();
  await watcher.call('tree.subscribe', { tree: '*', deltas: false });
  const bound = { cancelAfterMs: 300 };
  const task = await TestTask.start(stage, [longText], { onDisconnect: bound });
  const free = await TestTask.start(stage, [longText], { subscribe: false });
  // One of two goes: somebody still watches.
  await task.client.close();
  await watcher.until(() => watcher.of('message', task.agent).length > 0);
  // The other one goes, too, and somebody comes back in time.
  await watcher.close();
  const back = await stage.connect();
  await back.call('tree.subscribe', { tree: task.agent });
  expect(await back.call('agent.get', { agent: task.agent })).toMatchObject({ state: 'running' });
  const leftAt = Date.now();
  await back.close();

  const later = await stage.connect();
  const { detail } = await cancelled(later, task.agent);
  expect(detail).toBe('The last subscriber has gone.');
  await later.call('tree.subscribe', { tree: task.agent, after: 'start' });
  const { at } = await later.state(task.agent, 'cancelled');
  expect(at - leftAt).toBeGreaterThanOrEqual(300);
  expect(await later.call('agent.get', { agent: free.agent })).toMatchObject({ state: 'running' });
});

/** Asks until it is so, as a subscription would be somebody who watches. */
async function cancelled(client: TestClient, agent: string) {
  for (;;) {
    const view = await client.call('agent.get', { agent });
    if (view.state === 'cancelled') return view;
    await client.call('ping', {});
  }
}
