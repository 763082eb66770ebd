import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import type { Step } from '../support/model-script.ts';
import { Stage, textOf, until } from '../support/stage.ts';
import { longText, TestTask, touch } from '../support/task.ts';

const streams = ({ client, agent }: TestTask) =>
  client.until(() => client.events.some(({ event }) => event.type === 'delta' && event.agent === agent));

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  /** The turn has ended with the agent idle; the next message goes on in the same session, and completes it. */
  async function expectGoesOn(task: TestTask, turn = 1): Promise<void> {
    await task.idle();
    expect(await task.get()).toMatchObject({ state: 'idle', turn });
    expect(await task.interrupt()).toEqual({ interrupted: false });
    await task.send([{ say: 'Going on.' }]);
    expect((await task.end()).data.state).toBe('completed');
    expect(await task.result()).toMatchObject({ text: 'Going on.', turns: turn + 1 });
    const sessions = task
      .of('message')
      .flatMap(({ data }) => (data.type === 'result' ? [data.session_id] : []));
    expect(new Set(sessions).size).toBe(1);
  }

  test('in the middle of a text: it is kept, and the agent is idle, a one-shot one too', async () => {
    const task = await TestTask.start(stage, [longText]);
    await streams(task);
    expect(await task.interrupt()).toEqual({ interrupted: true });
    await task.idle();
    const [kept] = task.texts();
    expect(kept?.length).toBeGreaterThan(0);
    expect(longText.say.startsWith(String(kept))).toBe(true);
    await expectGoesOn(task);
  });

  test('during a tool: its shell is ended', async () => {
    const pidFile = `pid-${version}`;
    const input = { command: `echo $$ >${pidFile}; tail -f /dev/null`, description: 'Wait' };
    const task = await TestTask.start(stage, [{ tool: 'Bash', input }], { allowedTools: ['Bash'] });
    const pid = await until(() => Number(textOf(join(stage.gateway.work, pidFile))));
    await task.interrupt(1);
    await expectGoesOn(task);
    await until(() => !stage.processes().includes(pid));
  });

  test('with a permission open, twice and of a turn that is named: one effect', async () => {
    const task = await TestTask.start(stage, [touch('never')]);
    await task.asked();
    await expect(task.interrupt(2)).rejects.toMatchObject({ code: 'stale_turn', data: { turn: 1 } });
    const twice = await Promise.all([task.interrupt(1), task.interrupt()]);
    expect(twice).toEqual([{ interrupted: true }, { interrupted: true }]);
    await expectGoesOn(task);
    expect(task.of('message').filter(({ data }) => data.subtype === 'error_during_execution')).toHaveLength(
      1,
    );
  });

  test('right after the start, before there is a process', async () => {
    const task = await TestTask.start(stage, [longText]);
    expect(await task.interrupt()).toEqual({ interrupted: true });
    await expectGoesOn(task);
    expect(task.of('message').filter(({ data }) => data.subtype === 'error_during_execution')).toHaveLength(
      1,
    );
  });

  test('in one breath with the message: it is that turn that ends', async () => {
    const task = await TestTask.start(stage, undefined, { keepOpen: true });
    await task.idle();
    const [, interrupted] = await Promise.all([task.send([longText]), task.interrupt()]);
    expect(interrupted).toEqual({ interrupted: true });
    const { data } = await task.turnEnd();
    expect(data).toMatchObject({ subtype: 'error_during_execution' });
    await task.send([{ say: 'Untouched.' }]);
    expect((await task.turnEnd()).data).toMatchObject({ is_error: false, result: 'Untouched.' });
  });

  test('of a turn that has just ended by itself: the next one is untouched', async () => {
    const task = await TestTask.start(stage, undefined, { keepOpen: true });
    for (let turn = 1; turn <= 8; turn += 1) {
      // The interrupt of an odd turn meets its end.
      await task.send([{ say: `Turn ${turn}.` }]);
      if (turn % 2 === 1) {
        await task.client.until(() => task.texts().includes(`Turn ${turn}.`));
        await task.interrupt();
      }
      const { data } = await task.turnEnd();
      if (turn % 2 === 0) expect(data).toMatchObject({ is_error: false, result: `Turn ${turn}.` });
    }
    expect(await task.get()).toMatchObject({ state: 'idle', turn: 8 });
  });
});

test('at twenty random points: a message after it is always answered', async () => {
  await using stage = await Stage.open();
  const round: Step[] = [
    { say: 'A text that takes its time.', chunk: 2, delayMs: 4 },
    { tool: 'Bash', input: { command: 'sleep 0.05; echo done', description: 'Short' } },
    touch('random'),
  ];
  const task = await TestTask.start(stage, undefined, { keepOpen: true });
  let seed = 20;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  let turns = 0;
  for (let times = 0; times < 20; times += 1) {
    const step = round[times % round.length] as Step;
    await task.send([step, { say: `End of ${times}.` }]);
    await delay(random() * 250);
    const { interrupted } = await task.interrupt();
    await task.turnEnd();
    turns += 1;
    if (interrupted || times % 5 === 4) {
      await task.send([{ say: `Answer ${times}.` }]);
      expect((await task.turnEnd()).data).toMatchObject({ is_error: false, result: `Answer ${times}.` });
      turns += 1;
    }
  }
  expect(await task.get()).toMatchObject({ state: 'idle', turn: turns, run: 1 });
  expect(await task.client.call('tree.get', { tree: task.agent })).toMatchObject({
    permissions: [],
    queued: [],
  });
});
