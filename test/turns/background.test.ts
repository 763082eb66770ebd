import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import { type Step, script } from '../support/model-script.ts';
import { kill, Stage } from '../support/stage.ts';
import { longShell, newest, TestTask } from '../support/task.ts';

type Figures = { total_cost_usd: number; usage: { input_tokens: number } };

const shell = (seconds: number, more: object = {}) => ({
  name: 'Bash',
  input: { command: `sleep ${seconds}; echo slept`, description: 'Sleep', ...more },
});
const worker = (command: string) => ({
  name: 'Task',
  input: {
    description: `Run ${command}`,
    prompt: script([{ tool: 'Bash', input: { command, description: 'Work' } }, { say: 'Worked.' }]),
    subagent_type: 'general-purpose',
    run_in_background: true,
  },
});

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  const results = (task: TestTask) => task.of('message').filter(({ data }) => data.type === 'result');

  /** The task ended after its last turn, each of which has its number, and its result is what was said in it. */
  async function expectWhole(task: TestTask): Promise<void> {
    expect((await task.end()).data.state).toBe('completed');
    const ends = results(task);
    expect(ends.map(({ turn }) => turn)).toEqual(ends.map((_, index) => index + 1));
    expect(await task.result()).toMatchObject({ text: task.texts().at(-1), turns: ends.length });
    expect(task.texts().length).toBeGreaterThan(1);
  }

  test('a task is not complete before its subagents in the background are, and the CLI has heard of both', async () => {
    const after = ['After the first.', 'After the second.', 'Never said.'].map((say) => ({ say }));
    const tools = [worker('sleep 0.5; echo one'), worker('sleep 0.5; echo two')];
    const task = await TestTask.start(stage, [{ tools }, { say: 'Both started.' }, ...after]);
    await expectWhole(task);
    const whole = JSON.stringify(task.of('message'));
    expect(whole.match(/"status":"completed","output_file"/g)).toHaveLength(2);
  });

  test('nor before a shell in the background is, be it a failure', async () => {
    const failing = { name: 'Bash', input: { command: 'sleep 0.5; exit 3', run_in_background: true } };
    const tools = [shell(0.5, { run_in_background: true }), failing];
    const steps: Step[] = [{ tools }, { say: 'Both started.' }, { say: 'One.' }, { say: 'Two.' }];
    await expectWhole(await TestTask.start(stage, steps, { allowedTools: ['Bash'] }));
  });

  test('word of an end that comes during a turn has no turn of its own', async () => {
    const tools = [shell(0.1, { run_in_background: true })];
    const steps: Step[] = [{ tools }, { tools: [shell(1)] }, { tools: [shell(0.1)] }, { say: 'End.' }];
    const task = await TestTask.start(stage, steps, { allowedTools: ['Bash'] });
    expect((await task.end()).data.state).toBe('completed');
    expect(await task.result()).toMatchObject({ text: 'End.', turns: 1 });
  });

  test('a message that crosses the end of one has its turn, and is taken once', async () => {
    const tools = [shell(0.3, { run_in_background: true })];
    const steps: Step[] = [{ tools }, { say: 'Started.' }, { say: 'It has ended.' }];
    const task = await TestTask.start(stage, steps, { allowedTools: ['Bash'] });
    await task.client.until(() => task.of('message').find(({ data }) => data.subtype === 'task_updated'));
    const { message } = await task.send([{ say: 'End.' }]);
    expect((await task.end()).data.state).toBe('completed');
    expect(task.of('message.consumed').map(({ data }) => data.id)).toEqual([message]);
    expect(task.texts()).toEqual(expect.arrayContaining(['Started.', 'End.']));
    const last = results(task).at(-1);
    expect(await task.result()).toMatchObject({ turns: last?.turn, text: last?.data.result });
  });

  test('an interrupt ends them too: the next message completes the task', async () => {
    const endless = longShell.input.command;
    const tools = [worker(endless), worker(endless)];
    const task = await TestTask.start(stage, [{ tools }, { hang: true }], {
      name: `held ${version}`,
      allowedTools: ['Bash'],
    });
    await stage.model.asked(`held ${version}`, 1);
    await task.client.until(
      () => task.of('message').filter(({ data }) => data.subtype === 'task_progress')[1],
    );
    await task.interrupt();
    await task.idle();
    await task.send([{ say: 'End.' }]);
    expect((await task.end()).data.state).toBe('completed');
    expect(await task.result()).toMatchObject({ text: 'End.', turns: 2 });
  });

  test.runIf(version === newest)('the cost is the sum over turns and runs, as the CLI tells it', async () => {
    const task = await TestTask.start(stage, [{ say: 'One.' }], { keepOpen: true });
    await task.turnEnd();
    await task.send([{ say: 'Two.' }]);
    await task.turnEnd();
    const [, cli] = await stage.processesOf(task.agent);
    kill(cli.pid);
    await task.send([{ say: 'Three.' }]);
    await task.turnEnd();
    await task.close();
    await task.end();
    const figures = results(task).map(({ data }) => data as unknown as Figures);
    const [, firstRun = 0, secondRun = 0] = figures.map(({ total_cost_usd }) => total_cost_usd);
    const { costUsd, usage } = await task.result();
    expect(secondRun).toBeLessThan(firstRun);
    expect(costUsd).toBeCloseTo(firstRun + secondRun, 10);
    expect(usage.inputTokens).toBe(figures.reduce((sum, one) => sum + one.usage.input_tokens, 0));
    expect((await task.get()).costUsd).toBe(costUsd);
    expect(task.of('agent.usage').map(({ data }) => data.costUsd)).toHaveLength(3);
  });
});
