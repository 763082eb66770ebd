import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import { kill, Stage } from '../support/stage.ts';
import { TestTask, touch } from '../support/task.ts';

const end = { say: 'End.' };

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  const initsOf = (task: TestTask) =>
    task
      .of('message')
      .flatMap(({ data }) => (data.subtype === 'init' ? [[data.model, data.permissionMode]] : []));

  test('model and mode hold from the next turn on, and in the runs after a crash', async () => {
    const task = await TestTask.start(stage, undefined, { keepOpen: true, model: 'model-one' });
    const { agent, client } = task;
    await task.idle();
    await task.send([touch('a'), end]);
    await task.answer(await task.asked(), { behavior: 'deny' });
    await task.turnEnd();
    const wanted = { model: 'model-two', permissionMode: 'acceptEdits' } as const;
    expect(await client.call('task.configure', { agent, ...wanted })).toEqual(wanted);
    await task.send([touch('b'), end]);
    await task.turnEnd();
    expect(task.of('permission.requested')).toHaveLength(1);

    expect(await client.call('task.configure', { agent, permissionMode: 'approve' })).toEqual({
      model: 'model-two',
      permissionMode: 'approve',
    });
    const [, cli] = await stage.processesOf(agent);
    kill(cli.pid);
    await task.idle(4);
    await task.send([touch('c'), end]);
    await task.allow();
    await task.turnEnd();
    expect(initsOf(task)).toEqual([
      ['model-one', 'default'],
      ['model-two', 'acceptEdits'],
      ['model-two', 'default'],
    ]);
    await task.close();
    await task.end();
    await expect(client.call('task.configure', { agent, model: 'model-three' })).rejects.toMatchObject({
      code: 'not_running',
    });
  });

  test('a question that is open stays open when the mode would allow it now', async () => {
    const task = await TestTask.start(stage, [touch('open'), touch('free'), end]);
    const asked = await task.asked();
    await task.client.call('task.configure', { agent: task.agent, permissionMode: 'acceptEdits' });
    expect(await task.answer(asked, { behavior: 'allow' })).toEqual({ outcome: 'allowed' });
    expect((await task.end()).data.state).toBe('completed');
    expect(task.of('permission.requested')).toHaveLength(1);
  });
});
