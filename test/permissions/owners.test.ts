import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Encoding } from '../../src/protocol/codec.ts';
import type { Scope } from '../../src/protocol/methods.ts';
import { TestClient } from '../support/client.ts';
import { Stage } from '../support/stage.ts';
import { TestTask, touch } from '../support/task.ts';

const people = {
  phone: { owner: 'local', scopes: ['read', 'answer'] },
  screen: { owner: 'local', scopes: ['read'] },
  neighbour: { owner: 'somebody', scopes: ['read', 'start', 'answer'] },
} satisfies Record<string, { owner: string; scopes: Scope[] }>;
type Person = keyof typeof people;

const tokenOf = (name: Person) => `token-of-${name}-0123456789`;

describe.each(['json', 'msgpack'] as const)('over %s', (encoding: Encoding) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
    await stage.gateway.kill();
    const tokens = Object.entries(people).map(([name, person]) => ({
      name,
      ...person,
      sha256: createHash('sha256')
        .update(tokenOf(name as Person))
        .digest('hex'),
    }));
    writeFileSync(join(stage.gateway.dataDir, 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
    await stage.gateway.start();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  async function connect(name: Person): Promise<AsyncDisposable & { client: TestClient }> {
    const client = await TestClient.connect(stage.gateway.url, tokenOf(name), encoding);
    return { client, [Symbol.asyncDispose]: () => client.close() };
  }

  test('the first valid answer counts, and everybody learns whose it was', async () => {
    await using phone = await connect('phone');
    const task = await TestTask.start(stage, [touch('first'), { say: 'End.' }], { encoding });
    await phone.client.call('tree.subscribe', { tree: task.agent });
    const asked = await task.asked();
    const { permission } = asked.data;
    const answer = { permission, behavior: 'deny', message: 'No.' } as const;
    expect(await phone.client.call('permission.answer', answer)).toEqual({ outcome: 'denied' });
    for (const client of [task.client, phone.client]) {
      const { data } = await client.fact('permission.resolved');
      expect(data).toEqual({ permission, outcome: 'denied', by: 'phone', message: 'No.' });
    }
    expect(await task.answer(asked, { behavior: 'deny', message: 'No.' })).toEqual({ outcome: 'denied' });
    const others = [
      { behavior: 'allow' },
      { behavior: 'deny', message: 'For another reason.' },
      { behavior: 'allow', updatedInput: { command: 'true' } },
    ] as const;
    for (const other of others) {
      await expect(task.answer(asked, other)).rejects.toMatchObject({
        code: 'already_answered',
        data: { outcome: 'denied', by: 'phone' },
      });
    }
    await task.end();
  });

  test('of two answers at once one wins, and the other hears which', async () => {
    await using phone = await connect('phone');
    const task = await TestTask.start(stage, [touch('race'), { say: 'End.' }], { encoding });
    const asked = await task.asked();
    const { permission } = asked.data;
    const answers = await Promise.allSettled([
      task.answer(asked, { behavior: 'allow' }),
      phone.client.call('permission.answer', { permission, behavior: 'deny' }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const { outcome } = await task.resolved(asked);
    const lost = answers.find(({ status }) => status === 'rejected');
    expect(lost).toMatchObject({ reason: { code: 'already_answered', data: { outcome } } });
    expect(task.of('permission.resolved')).toHaveLength(1);
    await task.end();
  });

  test("another owner's permission looks like an unknown one, and a reader may not answer", async () => {
    await using neighbour = await connect('neighbour');
    await using screen = await connect('screen');
    const task = await TestTask.start(stage, [touch('private'), { say: 'End.' }], { encoding });
    const asked = await task.asked();
    const { permission } = asked.data;
    const errorOf = (client: TestClient, id: string) =>
      client.call('permission.answer', { permission: id, behavior: 'allow' }).catch((error) => error);
    const foreign = await errorOf(neighbour.client, permission);
    const unknown = await errorOf(neighbour.client, 'perm_unknown');
    expect(foreign.code).toBe('not_found');
    expect(foreign.message.replace(permission, 'perm_unknown')).toBe(unknown.message);
    expect({ ...foreign.data, id: 'perm_unknown' }).toEqual(unknown.data);
    expect(await neighbour.client.call('permission.list', {})).toEqual({ permissions: [] });

    expect(await screen.client.call('permission.list', { tree: task.agent })).toMatchObject({
      permissions: [{ permission }],
    });
    expect(await errorOf(screen.client, permission)).toMatchObject({
      code: 'forbidden',
      data: { scope: 'answer' },
    });
    expect(task.of('permission.resolved')).toEqual([]);
    await task.answer(asked, { behavior: 'allow' });
    expect((await task.end()).data.state).toBe('completed');
  });
});
