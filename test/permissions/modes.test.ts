import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import { kill, Stage } from '../support/stage.ts';
import { newest, TestTask, touch } from '../support/task.ts';

const end = { say: 'End.' };
const modes = { permissionMode: 'bypass' } as const;

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    const flags = ['--allow-bypass', '--allow-skip-permissions'];
    stage = await Stage.open({ claude: version, flags });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  const isThere = (file: string) => existsSync(join(stage.gateway.work, file));

  test('bypass allows the calls of its own task, on record, while another one asks', async () => {
    const asking = await TestTask.start(stage, [touch('asked'), end]);
    const open = await asking.asked();
    const task = await TestTask.start(stage, [touch('bypassed'), end], modes);
    expect((await task.end()).data.state).toBe('completed');
    const asked = await task.asked();
    expect(asked.data.input).toEqual(touch('bypassed').input);
    expect(await task.resolved(asked)).toEqual({
      permission: asked.data.permission,
      outcome: 'allowed',
      by: 'gateway',
      rule: 'bypass',
    });
    expect(asking.of('permission.resolved')).toEqual([]);
    expect(await asking.get()).toMatchObject({ state: 'running', waiting: { ids: [open.data.permission] } });
    await asking.answer(open, { behavior: 'deny' });
    expect((await asking.end()).data.state).toBe('completed');
    expect([isThere('asked'), isThere('bypassed')]).toEqual([false, true]);
  });

  test('skipPermissions asks for nothing, also after a crash, but for a question', async () => {
    const question = { question: 'Sure?', header: 'Sure', options: [], multiSelect: false };
    const options = ['Yes', 'No'].map((label) => ({ label, description: label }));
    const ask = { tool: 'AskUserQuestion', input: { questions: [{ ...question, options }] } };
    const task = await TestTask.start(stage, [touch('skipped'), ask, end], {
      skipPermissions: true,
      keepOpen: true,
    });
    const asked = await task.asked();
    expect(asked.data).toMatchObject({ kind: 'question' });
    expect(isThere('skipped')).toBe(true);
    await task.answer(asked, { behavior: 'allow', answers: { 'Sure?': 'Yes' } });
    await task.idle();
    const [, cli] = await stage.processesOf(task.agent);
    kill(cli.pid);
    await task.idle(2);
    // Set once more, it's still the CLI's own word for it that counts.
    const { agent } = task;
    const change = { agent, permissionMode: 'skipPermissions' } as const;
    expect(await task.client.call('task.configure', change)).toEqual({ permissionMode: 'skipPermissions' });
    await task.send([touch('skipped-again'), end]);
    await task.idle(3);
    expect(isThere('skipped-again')).toBe(true);
    expect(task.of('permission.requested')).toHaveLength(1);
    // A narrower one holds at once, and can't be widened again.
    await task.client.call('task.configure', { agent, permissionMode: 'default' });
    await expect(task.client.call('task.configure', change)).rejects.toMatchObject({
      code: 'refused',
      data: { rule: 'mode', mode: 'skipPermissions' },
    });
    await task.send([touch('asked-again'), end]);
    await task.answer(await task.asked(), { behavior: 'deny' });
    await task.idle(4);
    expect(isThere('asked-again')).toBe(false);
  });

  test.runIf(version === newest)('a plan that was allowed is not planned again after a crash', async () => {
    const plan = { tool: 'ExitPlanMode', input: { plan: 'Touch a file.' } };
    const task = await TestTask.start(stage, [plan, end], { permissionMode: 'plan', keepOpen: true });
    await task.allow();
    await task.idle();
    const [, cli] = await stage.processesOf(task.agent);
    kill(cli.pid);
    await task.idle(2);
    await task.send([touch('planned'), end]);
    await task.allow();
    await task.idle(3);
    const inits = task.of('message').filter(({ data }) => data.subtype === 'init');
    expect(inits.map(({ data }) => data.permissionMode)).toEqual(['plan', 'default']);
  });
});

describe('without the flags', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test.each([
    [{ permissionMode: 'bypass' }, '--allow-bypass'],
    [{ permissionMode: 'skipPermissions' }, '--allow-skip-permissions'],
    [{ permissionMode: 'bypassPermissions' }, '--allow-skip-permissions'],
    [{ skipPermissions: true }, '--allow-skip-permissions'],
  ] as const)('%o is refused, and nothing is started', async (mode, flag) => {
    const start = TestTask.start(stage, [end], mode);
    await expect(start).rejects.toMatchObject({
      code: 'refused',
      data: { rule: 'mode' },
      message: expect.stringContaining(flag),
    });
    const client = await stage.connect();
    expect(await client.call('agent.list', {})).toEqual({ agents: [] });
  });
});

test('a mode that the operator has taken back is refused on the way and at a resume', async () => {
  await using stage = await Stage.open({ flags: ['--allow-bypass'] });
  const task = await TestTask.start(stage, [end], modes);
  await task.end();
  await stage.gateway.kill('SIGTERM');
  await stage.gateway.start(undefined, ['--no-allow-bypass']);
  const client = await stage.connect();
  const refusal = { code: 'refused', data: { rule: 'mode', mode: 'bypass' } };
  await expect(client.call('task.resume', { agent: task.agent })).rejects.toMatchObject(refusal);
  const other = await TestTask.start(stage, [touch('never'), end]);
  const change = other.client.call('task.configure', { agent: other.agent, permissionMode: 'bypass' });
  await expect(change).rejects.toMatchObject(refusal);
  await other.answer(await other.asked(), { behavior: 'deny' });
  expect((await other.end()).data.state).toBe('completed');
});
