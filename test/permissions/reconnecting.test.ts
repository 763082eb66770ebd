import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Stage } from '../support/stage.ts';
import { TestTask, touch } from '../support/task.ts';

describe.each(['json', 'msgpack'] as const)('over %s', (encoding) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test('a prompt outlives its socket: the next one finds it in the snapshot and answers it', async () => {
    const task = await TestTask.start(stage, [touch('later'), { say: 'End.' }], { encoding });
    const asked = await task.asked();
    await task.client.close();
    const client = await stage.connect(encoding);
    const { snapshot } = await client.call('tree.subscribe', { tree: task.agent });
    const { data, seq, at } = asked;
    expect(snapshot?.permissions).toEqual([{ ...data, seq, at, agent: task.agent }]);
    const { permission } = data;
    expect(await client.call('permission.answer', { permission, behavior: 'allow' })).toEqual({
      outcome: 'allowed',
    });
    await client.state(task.agent, 'completed');
    expect(client.of('permission.requested')).toEqual([]);
    expect(client.of('permission.resolved').map(({ data }) => data.permission)).toEqual([permission]);
  });

  test('ten reconnects during one prompt give one stream of events, and the agent waits on', async () => {
    const task = await TestTask.start(stage, [touch('patient'), { say: 'End.' }], { encoding });
    const asked = await task.asked();
    const { epoch } = await task.client.welcome();
    let seq = task.client.facts.at(-1)?.seq ?? 0;
    const seen = task.client.facts.map((fact) => fact.seq);
    let { client } = task;
    for (let times = 0; times < 10; times += 1) {
      await client.close();
      client = await stage.connect(encoding);
      const { verdict } = await client.call('tree.subscribe', { tree: task.agent, after: { epoch, seq } });
      expect(verdict).toBe('ok');
      seen.push(...client.facts.map((fact) => fact.seq));
      seq = seen.at(-1) ?? seq;
    }
    const { permission } = asked.data;
    expect(await client.call('agent.get', { agent: task.agent })).toMatchObject({
      state: 'running',
      run: 1,
      waiting: { ids: [permission] },
    });
    await client.call('permission.answer', { permission, behavior: 'allow' });
    await client.state(task.agent, 'completed');
    seen.push(...client.facts.map((fact) => fact.seq));
    const all = await stage.connect(encoding);
    await all.call('tree.subscribe', { tree: task.agent, after: 'start' });
    await all.state(task.agent, 'completed');
    const [first = 0] = seen;
    const since = all.facts.map((fact) => fact.seq).filter((one) => one >= first);
    expect([...new Set(seen)]).toEqual(since);
    expect(all.of('permission.requested')).toHaveLength(1);
  });
});
