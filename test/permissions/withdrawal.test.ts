import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import { kill, Stage } from '../support/stage.ts';
import { newest, TestTask } from '../support/task.ts';

const read = (name: string) => ({ name: 'Read', input: { file_path: `/etc/${name}` } });
const threeReads = { tools: ['passwd', 'group', 'hosts'].map(read) };

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  /** All of them were withdrawn, and say so to whoever answers. */
  async function expectWithdrawn(task: TestTask, asks: Awaited<ReturnType<TestTask['askedTimes']>>) {
    for (const asked of asks) {
      const { permission } = asked.data;
      expect(await task.resolved(asked)).toEqual({ permission, outcome: 'withdrawn' });
      await expect(task.answer(asked, { behavior: 'allow' })).rejects.toMatchObject({
        code: 'withdrawn',
        data: { outcome: 'withdrawn' },
      });
    }
    expect(await task.client.call('permission.list', { tree: task.agent })).toEqual({ permissions: [] });
  }

  test('an interrupt withdraws all that are open', async () => {
    const task = await TestTask.start(stage, [threeReads]);
    const asks = await task.askedTimes(3);
    expect(await task.interrupt()).toEqual({ interrupted: true });
    await task.idle();
    await expectWithdrawn(task, asks);
    expect(await task.close()).toEqual({ state: 'completed' });
  });

  test('a denial that interrupts withdraws the others', async () => {
    const task = await TestTask.start(stage, [threeReads]);
    const [first, ...others] = await task.askedTimes(3);
    if (!first) throw new Error('three were asked');
    await task.answer(first, { behavior: 'deny', message: 'Enough.', interrupt: true });
    await task.idle();
    expect(await task.resolved(first)).toMatchObject({ outcome: 'denied', message: 'Enough.' });
    await expectWithdrawn(task, others);
    expect(await task.close()).toEqual({ state: 'completed' });
  });

  test.runIf(version === newest)('a task that is cancelled with three open withdraws them', async () => {
    const task = await TestTask.start(stage, [threeReads]);
    const asks = await task.askedTimes(3);
    await task.client.call('task.cancel', { agent: task.agent });
    expect((await task.end()).data.state).toBe('cancelled');
    await expectWithdrawn(task, asks);
    expect(task.client.facts.at(-1)).toMatchObject({ type: 'agent.state' });
  });

  test.runIf(version === newest)(
    'a CLI that dies takes them along, also when it is not taken up again',
    async () => {
      const task = await TestTask.start(stage, [threeReads], { onCrash: 'fail' });
      const asks = await task.askedTimes(3);
      const [, cli] = await stage.processesOf(task.agent);
      kill(cli.pid);
      expect((await task.end()).data).toMatchObject({ state: 'failed', reason: 'crashed' });
      await expectWithdrawn(task, asks);
    },
  );
});
