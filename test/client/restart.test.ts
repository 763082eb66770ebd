import { expect, test } from 'vitest';
import { connect, type TreeEvent } from '../../client/index.ts';
import { script } from '../support/model-script.ts';
import { Stage } from '../support/stage.ts';
import { eagerClock } from './steps.ts';

const flags = (stage: Stage) => ['--port', new URL(stage.gateway.url).port];

test('over kill -9 of the gateway a reader has every event once, and the text is whole', async () => {
  await using stage = await Stage.open();
  using client = await connect(stage.gateway.url, { token: stage.gateway.token, clock: eagerClock });
  const text = 'The quick brown fox. '.repeat(40);
  const steps = [{ say: text, chunk: 3, delayMs: 4 }];
  const task = await client.start({ prompt: script(steps, { name: 'fox' }), cwd: stage.gateway.work });
  const pieces: string[] = [];
  const reading = (async () => {
    let kills = 0;
    for await (const piece of task.text) {
      pieces.push(piece);
      if (kills < 2 && pieces.join('').length > (kills + 1) * 250) {
        kills += 1;
        await stage.gateway.kill();
        await stage.gateway.start(undefined, flags(stage));
      }
    }
    return kills;
  })();
  const events: TreeEvent[] = [];
  for await (const event of task) events.push(event);
  expect(await reading).toBe(2);
  expect(pieces.join('')).toBe(text);
  expect(pieces.length).toBeGreaterThan(10);

  const observer = await stage.connect();
  await observer.call('tree.subscribe', { tree: task.tree, after: 'start' });
  await observer.state(task.id, 'completed');
  expect(events.filter((event) => 'seq' in event)).toEqual(observer.facts);
  expect(await task.result()).toMatchObject({ state: 'completed', text });
  expect(stage.model.stepsAsked('fox')).toEqual([0]);
});

test('a start whose answer was lost with the gateway is repeated under its key, and starts one agent', async () => {
  await using stage = await Stage.open();
  await stage.gateway.kill();
  // It dies when the agent is journaled, and nobody has been told.
  await stage.gateway.start('before-spawn');
  using client = await connect(stage.gateway.url, { token: stage.gateway.token, clock: eagerClock });
  const starting = client.start({
    prompt: script([{ say: 'Once.' }], { name: 'once' }),
    cwd: stage.gateway.work,
  });
  await stage.gateway.ended();
  await stage.gateway.start(undefined, flags(stage));
  const task = await starting;
  expect(await task.result()).toMatchObject({ state: 'completed', text: 'Once.' });
  const { agents } = await client.call('agent.list', {});
  expect(agents.map(({ id }) => id)).toEqual([task.id]);
  expect(stage.model.stepsAsked('once')).toEqual([0]);
});
