import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { script } from '../support/model-script.ts';
import { Stage } from '../support/stage.ts';
import { transcriptOf } from '../support/transcript.ts';

const words = 'Zoë says 🙂 and 日本語, 👩‍👩‍👧‍👦 too. ';
const touch = (file: string) => ({
  tool: 'Bash',
  input: { command: `touch ${file}`, description: 'A file' },
});

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

describe.each(['json', 'msgpack'] as const)('a task over %s', (encoding) => {
  test('streams its text, asks, is allowed by another connection, and gives its result', async () => {
    const name = `whole ${encoding}`;
    const cwd = stage.gateway.work;
    const [first, second] = [words.repeat(6), words.repeat(9)];
    const steps = [
      { ...touch(`allowed-${encoding}`), say: first, chunk: 7, delayMs: 2 },
      { say: second, chunk: 1, thinking: 'hm' },
    ];
    const [one, other] = [await stage.connect(encoding), await stage.connect(encoding)];
    const prompt = script(steps, { name });
    const { agent, subscription } = await one.call('task.start', { prompt, cwd, subscribe: true });
    await other.call('tree.subscribe', { tree: agent, after: 'start' });

    const asked = await other.fact('permission.requested');
    expect(asked.data).toMatchObject({
      kind: 'tool',
      path: [agent],
      input: touch(`allowed-${encoding}`).input,
    });
    const { permission } = asked.data;
    expect(await one.call('permission.list', { tree: agent })).toMatchObject({
      permissions: [{ permission, agent }],
    });
    expect(await other.call('permission.answer', { permission, behavior: 'allow' })).toEqual({
      outcome: 'allowed',
    });
    for (const client of [one, other]) {
      const { data } = await client.fact('permission.resolved');
      expect(data).toEqual({ permission, outcome: 'allowed', by: 'local' });
      await client.state(agent, 'completed');
    }
    expect(existsSync(join(cwd, `allowed-${encoding}`))).toBe(true);

    expect(stage.model.stepsAsked(name)).toEqual([0, 1]);
    for (const client of [one, other]) {
      const { live, complete } = transcriptOf(client, agent);
      expect(live).toEqual(stage.model.said(name));
      expect(complete).toEqual([first, second]);
      expect(client.facts.at(-1)?.type).toBe('agent.state');
      expect(client.facts.at(-2)).toMatchObject({
        type: 'agent.result',
        data: { state: 'completed', text: second, turns: 1 },
      });
    }
    const seen = subscription?.snapshot?.seq ?? 0;
    expect(one.facts).toEqual(other.facts.filter(({ seq }) => seq > seen));
    expect(await other.call('agent.result', { agent })).toMatchObject({ state: 'completed', text: second });
    expect(await one.call('agent.get', { agent })).toMatchObject({ state: 'completed', run: 1, turn: 1 });
  });

  test('that is denied hears why and goes on; the first answer counts', async () => {
    const name = `denied ${encoding}`;
    const client = await stage.connect(encoding);
    const { agent } = await client.call('task.start', {
      prompt: script([touch(`denied-${encoding}`), { say: 'Very well.' }], { name }),
      cwd: stage.gateway.work,
      subscribe: true,
    });
    const { permission } = (await client.fact('permission.requested')).data;
    const no = { permission, behavior: 'deny', message: 'Not in this house.' } as const;
    expect(await client.call('permission.answer', no)).toEqual({ outcome: 'denied' });

    const again = await stage.connect(encoding);
    expect(await again.call('permission.answer', no)).toEqual({ outcome: 'denied' });
    await expect(again.call('permission.answer', { permission, behavior: 'allow' })).rejects.toMatchObject({
      code: 'already_answered',
      data: { outcome: 'denied', by: 'local' },
    });
    const unknown = { permission: 'perm_nobody_knows', behavior: 'allow' } as const;
    await expect(again.call('permission.answer', unknown)).rejects.toMatchObject({ code: 'not_found' });

    await client.state(agent, 'completed');
    expect(client.of('permission.resolved').map(({ data }) => data)).toEqual([
      { permission, outcome: 'denied', by: 'local', message: 'Not in this house.' },
    ]);
    expect(JSON.stringify(client.of('message'))).toContain('Not in this house.');
    expect(existsSync(join(stage.gateway.work, `denied-${encoding}`))).toBe(false);
    expect(await again.call('agent.result', { agent })).toMatchObject({ text: 'Very well.' });
    expect(stage.model.stepsAsked(name)).toEqual([0, 1]);
  });

  test('that is started again under its key is the same one, also on another socket', async () => {
    const name = `keyed ${encoding}`;
    const task = { prompt: script([{ say: 'Once.' }], { name }), cwd: stage.gateway.work, name, key: name };
    const sockets = [await stage.connect(encoding), await stage.connect(encoding)] as const;
    const [first, second] = await Promise.all(
      sockets.map((socket) => socket.call('task.start', { ...task, subscribe: true })),
    );
    expect(second).toMatchObject({ agent: first?.agent, tree: first?.tree, state: first?.state });
    const agent = String(first?.agent);
    for (const socket of sockets) await socket.state(agent, 'completed');

    const third = await stage.connect(encoding);
    const { subscription: _, ...outcome } = { ...first };
    expect(await third.call('task.start', task)).toEqual(outcome);
    await expect(third.call('task.start', { ...task, name: 'other' })).rejects.toMatchObject({
      code: 'key_reused',
      data: { key: name },
    });
    await third.call('tree.subscribe', { tree: '*', after: 'start' });
    await third.state(agent, 'completed');
    expect(third.of('agent.created').filter(({ data }) => data.name === name)).toHaveLength(1);
    expect(stage.model.stepsAsked(name)).toEqual([0]);
  });
});
