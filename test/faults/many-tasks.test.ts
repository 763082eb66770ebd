import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { play, result, says, streams } from '../support/fake-acts.ts';
import { fakeClaude } from '../support/fake-task.ts';
import { Stage, until } from '../support/stage.ts';
import { crowd } from './crowd.ts';

/** What the gateway's process holds. */
function holdingsOf({ gateway }: Stage) {
  const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8');
  return {
    rssKb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]),
    threads: Number(/Threads:\s+(\d+)/.exec(status)?.[1]),
    descriptors: readdirSync(`/proc/${gateway.pid}/fd`).length,
    children: readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8').trim(),
    spools: readdirSync(join(gateway.dataDir, 'spools')),
  };
}

test('two hundred short tasks leave nothing behind: no process, no file, no memory', async () => {
  await using stage = await Stage.open({ claude: fakeClaude });
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
  const before = holdingsOf(stage);
  await crowd(150, run);
  await settled();
  const after = holdingsOf(stage);
  console.info(`after 50 tasks ${JSON.stringify(before)}, after 200 ${JSON.stringify(after)}`);
  expect(client.of('agent.result')).toHaveLength(200);
  expect(after).toEqual({ ...before, rssKb: expect.any(Number) });
  // 150 tasks of 24 kB of text, so a leak of what they said would be at least 4 MB a copy, and of lines twice that.
  expect(after.rssKb - before.rssKb).toBeLessThan(32 * 1024);
});
