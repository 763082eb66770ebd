import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Stage } from '../support/stage.ts';
import { TestTask, touch, versionsAndEncodings } from '../support/task.ts';

const end = { say: 'End.' };

describe.each(versionsAndEncodings)('CLI %s over %s', (version, encoding) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  const isThere = (file: string) => existsSync(join(stage.gateway.work, file));

  test('an allowed call runs as asked', async () => {
    const file = 'allowed';
    const task = await TestTask.start(stage, [touch(file), end], { encoding });
    const asked = await task.asked();
    expect(asked.data).toMatchObject({ kind: 'tool', tool: 'Bash', input: touch(file).input });
    expect(isThere(file)).toBe(false);
    expect(await task.answer(asked, { behavior: 'allow' })).toEqual({ outcome: 'allowed' });
    expect(await task.resolved(asked)).toEqual({
      permission: asked.data.permission,
      outcome: 'allowed',
      by: 'local',
    });
    expect((await task.end()).data.state).toBe('completed');
    expect(isThere(file)).toBe(true);
  });

  test('a changed input runs in place of the one that was asked', async () => {
    const task = await TestTask.start(stage, [touch('asked'), end]);
    const asked = await task.asked();
    const { input: updatedInput } = touch('changed');
    await task.answer(asked, { behavior: 'allow', updatedInput });
    expect(await task.resolved(asked)).toMatchObject({ outcome: 'allowed', input: updatedInput });
    expect((await task.end()).data.state).toBe('completed');
    expect([isThere('asked'), isThere('changed')]).toEqual([false, true]);
  });

  test('a denied call fails with the given words, and the model goes on', async () => {
    const task = await TestTask.start(stage, [touch('denied'), end], { encoding });
    const asked = await task.asked();
    const answer = { behavior: 'deny', message: 'Not in this house.' } as const;
    expect(await task.answer(asked, answer)).toEqual({ outcome: 'denied' });
    expect((await task.end()).data.state).toBe('completed');
    expect(task.toolResults()).toEqual([{ text: 'Not in this house.', isError: true }]);
    expect(await task.result()).toMatchObject({ text: 'End.', turns: 1 });
    expect(isThere('denied')).toBe(false);
  });

  test('a denial that interrupts ends the turn; the next message goes on', async () => {
    const task = await TestTask.start(stage, [touch('interrupted'), { say: 'Never said.' }]);
    const asked = await task.asked();
    await task.answer(asked, { behavior: 'deny', message: 'Stop it.', interrupt: true });
    await task.idle();
    expect(await task.get()).toMatchObject({ state: 'idle', turn: 1 });
    await task.send([touch('after'), end]);
    await task.allow();
    expect((await task.end()).data.state).toBe('completed');
    expect(await task.result()).toMatchObject({ text: 'End.', turns: 2 });
    expect([isThere('interrupted'), isThere('after')]).toEqual([false, true]);
    expect(task.texts()).not.toContain('Never said.');
  });

  test('several that are open at once: answering the middle one closes that one only', async () => {
    const reads = ['one', 'two', 'three'].map((name) => ({
      name: 'Read',
      input: { file_path: `/etc/hostname-${name}` },
    }));
    const task = await TestTask.start(stage, [{ tools: reads }, end]);
    const [first, middle, last] = await task.askedTimes(3);
    if (!first || !middle || !last) throw new Error('three were asked');
    const ids = [first, middle, last].map(({ data }) => data.permission);
    expect(await task.get()).toMatchObject({ waiting: { for: 'human', ids: expect.arrayContaining(ids) } });
    await task.answer(middle, { behavior: 'deny', message: 'Not this one.' });
    expect(task.of('permission.resolved').map(({ data }) => data.permission)).toEqual([ids[1]]);
    const { permissions } = await task.client.call('permission.list', { tree: task.agent });
    expect(permissions.map(({ permission }) => permission)).toEqual([ids[2], ids[0]]);
    await task.answer(last, { behavior: 'deny', message: 'Nor the last.' });
    await task.answer(first, { behavior: 'deny', message: 'Nor the first.' });
    expect((await task.end()).data.state).toBe('completed');
    const told = task.toolResults().map(({ text }) => text);
    expect(told.toSorted()).toEqual(['Nor the first.', 'Nor the last.', 'Not this one.']);
  });
});
