import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kill, Stage } from '../support/stage.ts';
import { longText, newest, TestTask, touch, versionsAndEncodings } from '../support/task.ts';

const say = (text: string) => [{ say: text }];

describe.each(versionsAndEncodings)('CLI %s over %s', (version, encoding) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test('an agent that is kept open starts idle without a prompt, and takes one message a turn', async () => {
    const task = await TestTask.start(stage, undefined, { keepOpen: true, encoding });
    await task.idle();
    expect(await task.get()).not.toHaveProperty('turn');
    for (const turn of [1, 2]) {
      const { message, position } = await task.send(say(`Turn ${turn}.`));
      expect(position).toBe(1);
      await task.idle(turn + 1);
      expect(task.of('message.consumed').at(-1)?.data).toEqual({ id: message, turn });
      expect(await task.get()).toMatchObject({ state: 'idle', turn });
    }
    expect(await task.close()).toEqual({ state: 'completed' });
    await task.end();
    expect(task.states()).toEqual(['idle', 'running', 'idle', 'running', 'idle', 'completed']);
    expect(await task.result()).toMatchObject({ text: 'Turn 2.', turns: 2 });
  });

  test('messages to a busy agent wait in order, are listed, and run one a turn; a close comes after', async () => {
    const task = await TestTask.start(stage, [touch('busy'), { say: 'First.' }], { keepOpen: true });
    const asked = await task.asked();
    const sent = [await task.send(say('Second.')), await task.send(say('Third.'))];
    expect(sent.map(({ position }) => position)).toEqual([1, 2]);
    const queued = task.of('message.queued').map(({ data, seq }) => ({ ...data, seq, agent: task.agent }));
    expect(queued.map(({ id, from }) => [id, from])).toEqual(sent.map(({ message }) => [message, 'local']));
    expect((await task.client.call('tree.get', { tree: task.agent })).queued).toEqual(queued);
    await task.answer(asked, { behavior: 'deny' });
    await task.client.until(() => task.texts().includes('Third.'));
    await task.close();
    await task.end();
    expect(task.texts()).toEqual(['First.', 'Second.', 'Third.']);
    expect(task.of('message.consumed').map(({ data }) => data)).toEqual([
      { id: sent[0]?.message, turn: 2 },
      { id: sent[1]?.message, turn: 3 },
    ]);
    const ends = task.of('message').filter(({ data }) => data.type === 'result');
    expect(ends.map(({ turn }) => turn)).toEqual([1, 2, 3]);
    expect((await task.client.call('tree.get', { tree: task.agent })).queued).toEqual([]);
  });

  test('a steering message is taken by the turn that runs', async () => {
    const task = await TestTask.start(stage, [touch('a'), touch('b'), { say: 'End.' }]);
    const first = await task.asked();
    const { message } = await task.send('By the way: be quick.', { steer: true });
    await task.answer(first, { behavior: 'allow' });
    await task.allow();
    expect((await task.end()).data.state).toBe('completed');
    expect(task.of('message.consumed').map(({ data }) => data)).toEqual([{ id: message, turn: 1 }]);
    expect(await task.result()).toMatchObject({ text: 'End.', turns: 1 });
  });

  test('a steering message that comes too late for the turn has the next one, and the task waits for it', async () => {
    const task = await TestTask.start(stage, [
      { say: 'Just text, without a round of tools.', chunk: 1, delayMs: 20 },
    ]);
    await task.client.until(() => task.client.events.some(({ event }) => event.type === 'delta'));
    const { message } = await task.send(say('End.'), { steer: true });
    expect((await task.end()).data.state).toBe('completed');
    expect(task.of('message.consumed').map(({ data }) => data)).toEqual([{ id: message, turn: 2 }]);
    expect(await task.result()).toMatchObject({ text: 'End.', turns: 2 });
  });

  test.runIf(version === newest)('a message outlives the socket that sent it', async () => {
    const task = await TestTask.start(stage, [touch('sent'), { say: 'First.' }]);
    const asked = await task.asked();
    const { message } = await task.send(say('Second.'));
    await task.client.close();
    const client = await stage.connect();
    const { snapshot } = await client.call('tree.subscribe', { tree: task.agent });
    expect(snapshot?.queued).toMatchObject([{ id: message, position: 1, from: 'local' }]);
    await client.call('permission.answer', { permission: asked.data.permission, behavior: 'deny' });
    await client.state(task.agent, 'completed');
    expect(await client.call('agent.result', { agent: task.agent })).toMatchObject({
      text: 'Second.',
      turns: 2,
    });
  });
});

describe('whatever the CLI', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test('the queue holds a hundred, and says so; what waits at the end is dropped with the reason', async () => {
    const task = await TestTask.start(stage, [touch('full')]);
    await task.asked();
    const sent = await Promise.all(Array.from({ length: 60 }, (_, n) => task.send(`Message ${n}`)));
    sent.push(...(await Promise.all(Array.from({ length: 40 }, (_, n) => task.send(`Message ${60 + n}`)))));
    expect(sent.map(({ position }) => position)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
    await expect(task.send('One too many')).rejects.toMatchObject({
      code: 'queue_full',
      data: { limit: 100, retryable: true },
    });
    await task.client.call('task.cancel', { agent: task.agent });
    await task.end();
    expect(task.of('message.dropped').map(({ data }) => data)).toEqual(
      sent.map(({ message }) => ({ id: message, reason: 'cancelled' })),
    );
    await expect(task.send('Too late')).rejects.toMatchObject({
      code: 'not_running',
      data: { state: 'cancelled' },
    });
  });

  test('a message and a close in one breath: the message has its turn first', async () => {
    const task = await TestTask.start(stage, undefined, { keepOpen: true });
    await task.idle();
    const [sent, closed] = await Promise.all([task.send(say('Last words.')), task.close()]);
    expect(closed).toEqual({ state: 'running' });
    expect((await task.end()).data.state).toBe('completed');
    expect(task.of('message.consumed').map(({ data }) => data)).toEqual([{ id: sent.message, turn: 1 }]);
    expect(await task.result()).toMatchObject({ text: 'Last words.' });
  });

  test('a command is refused in a prompt, a message and a resume, unless the task allows it', async () => {
    const refusal = { code: 'refused', data: { rule: 'commands' } };
    const client = await stage.connect();
    const cwd = stage.gateway.work;
    for (const prompt of ['/clear', '  /compact now', [{ type: 'text' as const, text: '/clear' }]]) {
      await expect(client.call('task.start', { prompt, cwd })).rejects.toMatchObject(refusal);
    }
    const strict = await TestTask.start(stage, say('Done.'));
    await expect(strict.send('/clear')).rejects.toMatchObject(refusal);
    await strict.end();
    await expect(client.call('task.resume', { agent: strict.agent, prompt: '/clear' })).rejects.toMatchObject(
      refusal,
    );

    const task = await TestTask.start(stage, say('Before.'), { keepOpen: true, allowCommands: true });
    const session = String((await task.turnEnd()).data.session_id);
    await task.send('/clear');
    await task.turnEnd();
    await task.send(say('After.'));
    const after = await task.turnEnd();
    expect(after.data.session_id).not.toBe(session);
    expect(await task.get()).toMatchObject({ state: 'idle', turn: 3 });
    // A later run goes on with the new session.
    await task.close();
    await task.end();
    await task.client.call('task.resume', { agent: task.agent, prompt: 'Go on.' });
    expect((await task.turnEnd()).data.session_id).toBe(after.data.session_id);
  });

  test('an idle agent that is cancelled ends at once', async () => {
    const task = await TestTask.start(stage, undefined, { keepOpen: true });
    await task.idle();
    const { agent } = task;
    expect(await task.client.call('task.cancel', { agent })).toEqual({ cancelled: [agent] });
    expect((await task.end()).data.state).toBe('cancelled');
    expect(await task.client.call('task.cancel', { agent })).toEqual({ cancelled: [] });
  });

  test('interrupting and closing it between two runs ends it for good', async () => {
    const task = await TestTask.start(stage, [longText], { keepOpen: true });
    await task.client.until(() => task.client.events.some(({ event }) => event.type === 'delta'));
    const [, cli] = await stage.processesOf(task.agent);
    kill(cli.pid);
    await task.client.state(task.agent, 'interrupted');
    const [{ interrupted }] = await Promise.all([task.interrupt(), task.close()]);
    expect(interrupted).toBe(true);
    expect((await task.end()).data).toEqual({ state: 'completed' });
    expect(task.of('agent.result')).toHaveLength(1);
  });

  test('closing a busy agent ends it at the end of its turn', async () => {
    const task = await TestTask.start(stage, [longText], { keepOpen: true });
    await task.client.until(() => task.client.events.some(({ event }) => event.type === 'delta'));
    expect(await task.close()).toEqual({ state: 'running' });
    await task.interrupt();
    expect((await task.end()).data.state).toBe('completed');
    expect(task.states()).toEqual(['running', 'completed']);
  });
});
