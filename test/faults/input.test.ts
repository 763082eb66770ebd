import { expect, test } from 'vitest';
import { play } from '../support/fake-acts.ts';
import { fakeClaude } from '../support/fake-task.ts';
import { Stage, until } from '../support/stage.ts';
import { crowd } from './crowd.ts';

test('a CLI that exits while a megabyte is written to its stdin, fifty times: its own reason, and the gateway lives', async () => {
  await using stage = await Stage.open({ claude: fakeClaude });
  const client = await stage.connect();
  await client.call('tree.subscribe', { tree: '*', deltas: false });
  await crowd(50, async (n) => {
    const words = `Error: out of patience ${n}`;
    const { agent } = await client.call('task.start', {
      cwd: stage.gateway.work,
      prompt: play([], 'x'.repeat(1_000_000)),
      // From the first bytes, before it is ready, to the last ones.
      env: { FAKE_CLAUDE: JSON.stringify({ exitAt: { byte: 1 + n * 20_000, words } }) },
    });
    const { data } = await client.state(agent, 'failed', 'completed');
    expect(data).toMatchObject({ state: 'failed', exitCode: 1 });
    expect(data.reason).toBeOneOf(['start_failed', 'exited']);
    expect(data.detail).toContain(words);
  });
  await until(() => stage.processes().length === 0);
  expect(client.of('agent.result')).toHaveLength(50);
  expect(await client.call('ping', {})).toHaveProperty('at');
  // A fault of ours is logged at level 50.
  expect(stage.gateway.log).not.toMatch(/"level":[56]0/);
});
