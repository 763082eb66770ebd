import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { play, result, says, streams } from '../support/fake-acts.ts';
import { fakeClaude } from '../support/fake-task.ts';
import { Stage, until } from '../support/stage.ts';
import { crowd } from './crowd.ts';
import { liveBytes, measurable } from './heap.ts';

/** What the gateway's process holds beside memory. */
function holdingsOf({ gateway }: Stage) {
  const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8');
  return {
    threads: Number(/Threads:\s+(\d+)/.exec(status)?.[1]),
    descriptors: readdirSync(`/proc/${gateway.pid}/fd`).length,
    children: readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8').trim(),
    spools: readdirSync(join(gateway.dataDir, 'spools')),
  };
}

test('two hundred short tasks leave nothing behind: no process, no file, no memory', async () => {
  await using stage = await Stage.open({ claude: fakeClaude, env: measurable });
  const client = await stage.connect();
  await client.call('tree.subscribe', { tree: '*', deltas: false });
  const text = 'A word and another one. '.repeat(1_000);
  const acts = [{ lines: [...streams('m', text), says(text), result({ result: 'Done.' })] }];
  const run = async () => {
    const { agent } = await client.call('task.start', { cwd: stage.gateway.work, prompt: play(acts) });
    expect((await client.state(agent, 'completed', 'failed')).data).toEqual({ state: 'completed' });
  };
  const settled = () =>
    until(() => {
      const { spools, children } = holdingsOf(stage);
      return spools.length === 0 && children === '' && stage.processes().length === 0;
    });
  await crowd(50, run);
  await settled();
  const before = { ...holdingsOf(stage), bytes: await liveBytes(stage.gateway) };
  await crowd(150, run);
  await settled();
  const after = { ...holdingsOf(stage), bytes: await liveBytes(stage.gateway) };
  console.info(`after 50 tasks ${JSON.stringify(before)}, after 200 ${JSON.stringify(after)}`);
  expect(client.of('agent.result')).toHaveLength(200);
  expect(after).toEqual({ ...before, bytes: expect.any(Number) });
  // A task says 24 kB twice, so keeping one copy of it would be 3.6 MB.
  expect(after.bytes - before.bytes).toBeLessThan(1.5 * 1024 * 1024);
});

test('twenty that hang after their result and ignore SIGTERM leave nothing behind either', async () => {
  await using stage = await Stage.open({ claude: fakeClaude });
  const client = await stage.connect();
  await client.call('tree.subscribe', { tree: '*' });
  const prompt = play([{ lines: [says('Done.'), result()] }, { hang: true }]);
  const env = { FAKE_CLAUDE: JSON.stringify({ ignoreSigterm: true }) };
  await crowd(20, async () => {
    const { agent } = await client.call('task.start', { cwd: stage.gateway.work, prompt, env });
    expect((await client.state(agent, 'completed', 'failed')).data).toEqual({ state: 'completed' });
  });
  await until(() => stage.processes().length === 0 && holdingsOf(stage).spools.length === 0);
});
