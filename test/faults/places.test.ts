import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TestClient } from '../support/client.ts';
import { play } from '../support/fake-acts.ts';
import { fakeClaude } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';

let stage: Stage;
let client: TestClient;
beforeEach(async () => {
  stage = await Stage.open({ claude: fakeClaude, flags: ['--places', '2'] });
  client = await stage.connect();
  await client.call('tree.subscribe', { tree: '*' });
});
afterEach(() => stage?.[Symbol.asyncDispose]());

const start = () => client.call('task.start', { cwd: stage.gateway.work, prompt: play([{ wait: true }]) });
const cancel = (agent: string) => client.call('task.cancel', { agent });
const stateOf = async (agent: string) => {
  const { state, position, waiting } = await client.call('agent.get', { agent });
  return { state, position, for: waiting?.for };
};

/** Ten tasks at once, the first two of which work. */
async function ten(): Promise<string[]> {
  const started = await Promise.all(Array.from({ length: 10 }, start));
  expect(started.map(({ state }) => state)).toEqual(['starting', 'starting', ...Array(8).fill('queued')]);
  expect(started.map(({ position }) => position)).toEqual([undefined, undefined, 1, 2, 3, 4, 5, 6, 7, 8]);
  return started.map(({ agent }) => agent);
}

test('with two places ten tasks at once are two at work and eight in line, with their positions', async () => {
  const agents = await ten();
  expect(await stateOf(agents[4] as string)).toEqual({ state: 'queued', position: 3, for: 'place' });
  const queued = client.of('agent.state').filter(({ data }) => data.state === 'queued');
  expect(queued.map(({ data }) => data.position)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const { agents: live } = await client.call('tree.get', { tree: '*' });
  expect(live).toHaveLength(10);

  // Whoever ends lets in the first of the line, and everybody moves up.
  await cancel(agents[0] as string);
  await client.state(agents[2] as string, 'running');
  expect(await stateOf(agents[4] as string)).toMatchObject({ position: 2 });

  // One that leaves the line never had a process, and ends like any other.
  await cancel(agents[3] as string);
  const ended = await client.state(agents[3] as string, 'cancelled');
  expect(client.facts.filter(({ agent }) => agent === agents[3]).at(-1)).toEqual(ended);
  expect(client.of('agent.state', agents[3]).map(({ data }) => data.state)).toEqual(['queued', 'cancelled']);
  expect(await stateOf(agents[4] as string)).toMatchObject({ position: 1 });
  for (const agent of agents) await cancel(agent);
});

test('the line outlives the gateway, in its order', async () => {
  const agents = await ten();
  await client.state(agents[1] as string, 'running');
  await stage.gateway.kill('SIGKILL');
  await stage.gateway.start();
  client = await stage.connect();
  await client.call('tree.subscribe', { tree: '*', after: 'start' });
  const states = await Promise.all(agents.map(stateOf));
  expect(states.map(({ position }) => position)).toEqual([undefined, undefined, 1, 2, 3, 4, 5, 6, 7, 8]);
  await cancel(agents[1] as string);
  await client.state(agents[2] as string, 'running');
  for (const agent of agents) await cancel(agent);
  for (const agent of agents) await client.state(agent, 'cancelled');
});

test('an agent that falls idle gives its place to the next', async () => {
  const idle = await client.call('task.start', { cwd: stage.gateway.work, keepOpen: true });
  const busy = await start();
  await client.state(idle.agent, 'idle');
  const next = await start();
  await client.state(next.agent, 'running');
  for (const { agent } of [idle, busy, next]) await cancel(agent);
});

test('queue_full: more than a hundred in line', async () => {
  for (let n = 0; n < 102; n += 1) await start();
  await expect(start()).rejects.toMatchObject({ code: 'queue_full', data: { limit: 100 } });
  const { agents } = await client.call('agent.list', { limit: 200 });
  for (const { id } of agents) await cancel(id);
});
