import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeCommands, claudeVersions } from '../support/claude-home.ts';
import { script } from '../support/model-script.ts';
import { Stage, until } from '../support/stage.ts';
import { longText, newest, TestTask, touch } from '../support/task.ts';

const resumeOf = ({ client, agent }: TestTask, prompt?: string) =>
  client.call('task.resume', { agent, ...(prompt !== undefined && { prompt }) });

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test('an ended agent goes on in its session, with what was said before', async () => {
    const name = `resumed ${version}`;
    const task = await TestTask.start(stage, [{ say: 'One.' }, { say: 'Two.' }, { say: 'Three.' }], { name });
    await task.end();
    const before = await task.result();
    expect(await resumeOf(task, 'Go on.')).toMatchObject({ agent: task.agent, state: 'starting' });
    await expect(task.result()).rejects.toMatchObject({ code: 'conflict' });
    await expect(resumeOf(task, 'Again.')).rejects.toMatchObject({ code: 'conflict' });
    await task.client.until(() => task.of('agent.result')[1]);
    await task.client.until(() => task.states().filter((state) => state === 'completed')[1]);
    // The step that the model was asked for is read off the conversation that it was sent.
    expect(stage.model.stepsAsked(name)).toEqual([0, 1]);
    const after = await task.result();
    expect(after).toMatchObject({ state: 'completed', text: 'Two.', turns: 2 });
    expect(after.costUsd).toBeGreaterThan(before.costUsd);
    const sessions = task.of('message').map(({ data }) => data.session_id);
    expect(new Set(sessions.filter(Boolean)).size).toBe(1);
    expect(await task.get()).toMatchObject({ state: 'completed', run: 2, turn: 2 });
  });

  test.runIf(version === newest)('without a prompt it is idle, and a message goes on', async () => {
    const name = `idle ${version}`;
    const task = await TestTask.start(stage, [longText, { say: 'Two.' }], { name });
    await task.client.until(() => task.client.events.some(({ event }) => event.type === 'delta'));
    await task.client.call('task.cancel', { agent: task.agent });
    await task.end();
    await resumeOf(task);
    await task.idle();
    await task.send('Go on.');
    await task.client.until(() => task.states().includes('completed'));
    expect(await task.result()).toMatchObject({ text: 'Two.', turns: 2 });
  });

  test('a session that is gone: resume_failed, its id is kept, and nothing is tried again', async () => {
    const task = await TestTask.start(stage, [{ say: 'One.' }]);
    const { data } = await task.turnEnd();
    await task.end();
    const session = String(data.session_id);
    rmSync(await sessionFile(stage, session));
    await resumeOf(task, 'Go on.');
    const failed = await task.client.until(() =>
      task.of('agent.state').find((fact) => fact.data.state === 'failed'),
    );
    expect(failed.data).toMatchObject({
      reason: 'resume_failed',
      detail: expect.stringContaining(session),
    });
    expect(await task.get()).toMatchObject({ state: 'failed', reason: 'resume_failed', run: 2 });
  });

  test.runIf(version === newest)(
    'a session that is but an empty file is opened anew, as nothing was said in it',
    async () => {
      const task = await TestTask.start(stage, [longText], { name: 'empty' });
      await task.client.until(() => task.client.events.some(({ event }) => event.type === 'delta'));
      const [first] = task.of('message').map(({ data }) => String(data.session_id));
      await task.client.call('task.cancel', { agent: task.agent });
      await task.end();
      truncateSync(await sessionFile(stage, String(first)));
      await resumeOf(task, script([{ say: 'Anew.' }]));
      await task.client.until(() => task.of('agent.result')[1]);
      expect(await task.result()).toMatchObject({ state: 'completed', text: 'Anew.' });
      expect(task.states().filter((state) => state === 'starting')).toHaveLength(2);
    },
  );
});

describe('whatever the CLI', () => {
  let stage: Stage;
  beforeAll(async () => {
    // It can't resume while this file is there.
    const [command] = claudeCommands['2.1.332'];
    const script =
      'case "$*" in *--resume*) [ -e broken ] && { echo "no can do" >&2; exit 1; };; esac; exec "$0" "$@"';
    stage = await Stage.open({ claude: ['/bin/sh', '-c', script, command] });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test('of two clients that resume at once one wins, and the other is told', async () => {
    const task = await TestTask.start(stage, [{ say: 'One.' }, touch('held')]);
    await task.end();
    const other = new TestTask(await stage.connect(), task.agent);
    const outcomes = await Promise.allSettled([resumeOf(task, 'Mine.'), resumeOf(other, 'No, mine.')]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'conflict' },
    });
    await task.asked();
    expect(await task.get()).toMatchObject({ state: 'running', run: 2, turn: 2 });
    const starts = task.of('agent.state').filter(({ data }) => data.state === 'starting');
    expect(starts.map(({ data }) => data.run)).toEqual([2]);
    // Nor may anybody while it works, also after a restart of the gateway.
    await stage.gateway.kill();
    await stage.gateway.start();
    const again = new TestTask(await stage.connect(), task.agent);
    await expect(resumeOf(again, 'And I?')).rejects.toMatchObject({ code: 'conflict' });
    await again.client.call('task.cancel', { agent: task.agent });
    expect(await again.get()).toMatchObject({ state: 'cancelled', run: 2 });
  });

  test('a CLI that exits at once fails the resume with its words; a later resume goes on', async () => {
    const name = 'broken';
    const task = await TestTask.start(stage, [{ say: 'One.' }, { say: 'Two.' }], { name });
    await task.end();
    const broken = await TestTask.start(stage, [touch('broken'), { say: 'Broken.' }]);
    await broken.allow();
    await broken.end();

    await resumeOf(task, 'Go on.');
    const failed = await task.client.until(() =>
      task.of('agent.state').find((fact) => fact.data.state === 'failed'),
    );
    expect(failed.data).toMatchObject({
      reason: 'resume_failed',
      exitCode: 1,
      detail: expect.stringContaining('no can do'),
    });
    const { message } = task.of('message.queued').map(({ data }) => ({ message: data.id }))[0] ?? {};
    expect(task.of('message.dropped').map(({ data }) => data)).toEqual([{ id: message, reason: 'failed' }]);
    await until(() => stage.processes().length === 0);
    expect(await task.get()).toMatchObject({ state: 'failed', run: 2 });

    rmSync(join(stage.gateway.work, 'broken'));
    await resumeOf(task, 'Go on now.');
    await task.client.until(() => task.states().filter((state) => state === 'completed')[1]);
    expect(await task.result()).toMatchObject({ text: 'Two.' });
    expect(stage.model.stepsAsked(name)).toEqual([0, 1]);
  });
});

/** Where the CLI keeps it, once no process is left that may write there. */
async function sessionFile(stage: Stage, session: string): Promise<string> {
  await until(() => stage.processes().length === 0);
  const [file, ...others] = filesUnder(join(stage.home, '.claude/projects')).filter((path) =>
    path.includes(session),
  );
  if (!file || others.length > 0) throw new Error(`there is not one file of session ${session}`);
  return file;
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
}
