import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import { Stage } from '../support/stage.ts';
import { TestTask, touch } from '../support/task.ts';

const permissionMinutes = 0.01;
const end = { say: 'End.' };

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test('a permission that nobody answers in time is denied with the reason, and the turn ends well', async () => {
    const task = await TestTask.start(stage, [touch('late'), touch('later'), end], {
      limits: { permissionMinutes },
    });
    const asked = await task.asked();
    const deadline = asked.at + permissionMinutes * 60_000;
    expect(asked.data.deadline).toBe(deadline);
    const { permission } = asked.data;
    expect(await task.get()).toMatchObject({
      state: 'running',
      waiting: { for: 'human', ids: [permission], since: asked.at, until: deadline },
    });
    const words = 'Nobody answered within 0.01 minutes.';
    expect(await task.resolved(asked)).toEqual({
      permission,
      outcome: 'expired',
      by: 'gateway',
      message: words,
    });
    // Only that one call: the next one is asked about anew.
    await task.allow();
    expect((await task.end()).data.state).toBe('completed');
    expect(task.toolResults()[0]).toEqual({ text: words, isError: true });
    expect(await task.result()).toMatchObject({ text: 'End.' });
    expect(['late', 'later'].map((file) => existsSync(join(stage.gateway.work, file)))).toEqual([
      false,
      true,
    ]);
    for (const behavior of ['allow', 'deny'] as const) {
      await expect(task.answer(asked, { behavior })).rejects.toMatchObject({
        code: 'expired',
        data: { outcome: 'expired', by: 'gateway' },
      });
    }
  });
});

test('without a deadline a permission waits, longer than an idle agent may', async () => {
  await using stage = await Stage.open();
  const task = await TestTask.start(stage, [touch('patient'), end], { limits: { idleMinutes: 0.001 } });
  const asked = await task.asked();
  expect(asked.data).not.toHaveProperty('deadline');
  // Another agent starts, idles and ends meanwhile.
  const other = await TestTask.start(stage, undefined, { keepOpen: true, limits: { idleMinutes: 0.001 } });
  expect((await other.end()).data.state).toBe('completed');
  expect(await task.answer(asked, { behavior: 'allow' })).toEqual({ outcome: 'allowed' });
  expect((await task.end()).data.state).toBe('completed');
});
