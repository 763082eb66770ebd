import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import { TestClient } from '../support/client.ts';
import { kill, Stage } from '../support/stage.ts';
import { newest, TestTask, touch } from '../support/task.ts';

const answerer = 'a-token-that-may-answer-but-is-no-admin';

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version, flags: ['--allow-bypass'] });
    const sha256 = createHash('sha256').update(answerer).digest('hex');
    const token = { name: 'phone', owner: 'local', scopes: ['read', 'answer'], sha256 };
    await stage.gateway.kill();
    writeFileSync(join(stage.gateway.dataDir, 'tokens.json'), JSON.stringify([token]), { mode: 0o600 });
    await stage.gateway.start();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  /** Ends the CLI as a crash would, and waits until the second run is idle. */
  async function loseCli({ agent, client }: TestTask): Promise<void> {
    const [, cli] = await stage.processesOf(agent);
    kill(cli.pid);
    const second = await client.fact(
      'agent.state',
      ({ data }) => data.state === 'starting' && data.run === 2,
    );
    await client.fact('agent.state', ({ data, seq }) => data.state === 'idle' && seq > second.seq);
  }

  const outcomes = (task: TestTask) =>
    task.of('permission.resolved').map(({ data }) => [data.by, data.rule].filter(Boolean).join(' '));

  // What the gateway holds by itself is shown once; what the CLI holds, on both.
  test.runIf(version === newest).each(['run', 'agent'] as const)(
    'remembered for the %s: the same call is not asked again, another is; it holds that long',
    async (remember) => {
      const task = await TestTask.start(stage, [touch('a'), touch('a'), touch('b'), { say: 'Now.' }], {
        keepOpen: true,
      });
      const first = await task.asked();
      expect(await task.answer(first, { behavior: 'allow', remember })).toEqual({
        outcome: 'allowed',
        remembered: remember,
      });
      expect(await task.resolved(first)).toMatchObject({ by: 'local', remembered: remember });
      const again = await task.asked();
      expect(await task.resolved(again)).toMatchObject({ by: 'gateway', rule: 'remembered' });
      const other = await task.asked();
      expect(other.data.input).toEqual(touch('b').input);
      await task.answer(other, { behavior: 'allow' });
      await task.idle();

      await loseCli(task);
      await task.send([touch('a'), { say: 'End.' }]);
      const later = await task.asked();
      if (remember === 'run') await task.answer(later, { behavior: 'allow' });
      await task.client.until(() => task.texts().includes('End.'));
      const byGateway = ['gateway remembered', remember === 'run' ? 'local' : 'gateway remembered'];
      expect(outcomes(task)).toEqual(['local', byGateway[0], 'local', byGateway[1]]);
    },
  );

  test.runIf(version === newest)(
    'a changed input is remembered as it was allowed, not as it was asked',
    async () => {
      const task = await TestTask.start(stage, [
        touch('wild'),
        touch('wild'),
        touch('tame'),
        { say: 'End.' },
      ]);
      // The order of its fields doesn't matter.
      const updatedInput = Object.fromEntries(Object.entries(touch('tame').input).reverse());
      await task.allow({ updatedInput, remember: 'run' });
      await task.answer(await task.asked(), { behavior: 'deny', message: 'Never.' });
      await task.end();
      expect(outcomes(task)).toEqual(['local', 'local', 'gateway remembered']);
      expect(['wild', 'tame'].map((file) => existsSync(join(stage.gateway.work, file)))).toEqual([
        false,
        true,
      ]);
    },
  );

  test.each(version === newest ? (['run', 'agent'] as const) : (['run'] as const))(
    'a wider rule for the %s holds for all that it names, and needs an admin',
    async (remember) => {
      const task = await TestTask.start(stage, [touch('c'), touch('d'), { say: 'Now.' }], { keepOpen: true });
      const asked = await task.asked();
      const rule = 'Bash(touch *)';
      const phone = await TestClient.connect(stage.gateway.url, answerer);
      const { permission } = asked.data;
      await expect(
        phone.call('permission.answer', { permission, behavior: 'allow', remember, rule }),
      ).rejects.toMatchObject({ code: 'forbidden', data: { scope: 'admin' } });
      await phone.close();
      await task.answer(asked, { behavior: 'allow', remember, rule });
      expect(await task.resolved(asked)).toMatchObject({ remembered: remember, rule });
      await task.idle();
      expect(task.of('permission.requested')).toHaveLength(1);
      expect(existsSync(join(stage.gateway.work, '.claude'))).toBe(false);

      await loseCli(task);
      await task.send([touch('e'), { say: 'End.' }]);
      if (remember === 'run') await task.allow();
      await task.client.until(() => task.texts().includes('End.'));
      expect(task.of('permission.requested')).toHaveLength(remember === 'run' ? 2 : 1);
    },
  );

  test.runIf(version === newest)(
    'a restart of the gateway forgets nothing: neither an answer for the run, nor the mode',
    async () => {
      const steps = [touch('f'), { say: 'Now.' }];
      const task = await TestTask.start(stage, steps, { keepOpen: true });
      await task.allow({ remember: 'run' });
      await task.idle();
      const free = await TestTask.start(stage, [{ say: 'Now.' }], {
        keepOpen: true,
        permissionMode: 'bypass',
      });
      await free.idle();
      await stage.gateway.kill();
      await stage.gateway.start();
      for (const [{ agent }, rule] of [
        [task, 'remembered'],
        [free, 'bypass'],
      ] as const) {
        const again = new TestTask(await stage.connect(), agent);
        await again.client.call('tree.subscribe', { tree: agent });
        await again.send([touch('f'), { say: 'End.' }]);
        expect(await again.resolved(await again.asked())).toMatchObject({ by: 'gateway', rule });
        await again.idle();
      }
    },
  );
});
