import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import { script } from '../support/model-script.ts';
import { Stage } from '../support/stage.ts';
import { TestTask, touch } from '../support/task.ts';

/** A subagent of Claude's own that asks for a file. */
const worker = (file: string, background: boolean) => ({
  name: 'Task',
  input: {
    description: `Make ${file}`,
    prompt: script([touch(file), { say: `Made ${file}.` }]),
    subagent_type: 'general-purpose',
    run_in_background: background,
  },
});

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  /** The task ids of all subagents, in the order they were started. */
  const subagents = (task: TestTask) =>
    task.of('message').flatMap(({ data }) => (data.subtype === 'task_started' ? [data.task_id] : []));

  test('subagents ask side by side, each under its own name, and each gets its own answer', async () => {
    const steps = [{ tools: [worker('one', false), worker('two', false)] }, { say: 'End.' }];
    const task = await TestTask.start(stage, steps);
    const asks = await task.askedTimes(2);
    expect(asks.map(({ data }) => data.inner).toSorted()).toEqual(subagents(task).toSorted());
    for (const asked of asks) {
      const isFirst = JSON.stringify(asked.data.input).includes('one');
      await task.answer(asked, isFirst ? { behavior: 'allow' } : { behavior: 'deny', message: 'Not two.' });
    }
    expect((await task.end()).data.state).toBe('completed');
    expect(['one', 'two'].map((file) => existsSync(join(stage.gateway.work, file)))).toEqual([true, false]);
    expect(await task.result()).toMatchObject({ text: 'End.', turns: 1 });
  });

  test('a denial that interrupts ends the subagent that asked, not the turn', async () => {
    const steps = [{ tools: [worker('three', false)] }, { say: 'End.' }];
    const task = await TestTask.start(stage, steps);
    await task.answer(await task.asked(), { behavior: 'deny', interrupt: true });
    expect((await task.end()).data.state).toBe('completed');
    expect(await task.result()).toMatchObject({ text: 'End.', turns: 1 });
  });

  test('an interrupt takes the question of a subagent along', async () => {
    const task = await TestTask.start(stage, [{ tools: [worker('four', false)] }]);
    const asked = await task.asked();
    await task.interrupt();
    await task.idle();
    expect(await task.resolved(asked)).toMatchObject({ outcome: 'withdrawn' });
    await expect(task.answer(asked, { behavior: 'allow' })).rejects.toMatchObject({ code: 'withdrawn' });
  });

  test('the question of one in the background outlives the turn, and its agent waits for the answer', async () => {
    const steps = [{ tools: [worker('five', true)] }, { say: 'Started it.' }, { say: 'End.' }];
    const limits = { idleMinutes: 0.01 };
    const task = await TestTask.start(stage, steps, { limits });
    const asked = await task.asked();
    await task.idle();
    // Another one is ended for being idle so long.
    await (await TestTask.start(stage, undefined, { keepOpen: true, limits })).end();
    expect(await task.get()).toMatchObject({
      state: 'idle',
      waiting: { for: 'human', ids: [asked.data.permission] },
    });
    await task.answer(asked, { behavior: 'allow' });
    expect((await task.end()).data.state).toBe('completed');
    expect(existsSync(join(stage.gateway.work, 'five'))).toBe(true);
    expect(await task.result()).toMatchObject({ text: 'End.', turns: 2 });
    expect(task.of('permission.resolved')).toHaveLength(1);
  });
});
