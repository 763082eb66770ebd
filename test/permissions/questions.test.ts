import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import { Stage } from '../support/stage.ts';
import { TestTask, touch } from '../support/task.ts';

const color = {
  question: 'Which color?',
  header: 'Color',
  options: [
    { label: 'Blue', description: 'As the sky' },
    { label: 'Green', description: 'As the grass' },
  ],
  multiSelect: false,
};
const sizes = { ...color, question: 'Which sizes?', header: 'Sizes', multiSelect: true };
const ask = { tool: 'AskUserQuestion', input: { questions: [color, sizes] } };
const plan = '# The plan\n\n1. Touch a file.';
const propose = { tool: 'ExitPlanMode', input: { plan } };
const end = { say: 'End.' };

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version, flags: ['--allow-bypass'] });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test.each(['approve', 'bypass'] as const)(
    'a question is asked in mode %s, and its answers reach the model',
    async (permissionMode) => {
      const task = await TestTask.start(stage, [ask, end], { permissionMode });
      const asked = await task.asked();
      expect(asked.data).toMatchObject({ kind: 'question', tool: 'AskUserQuestion', input: ask.input });
      const answers = { 'Which color?': 'Rather a warm red', 'Which sizes?': ['Blue', 'Green'] };
      expect(await task.answer(asked, { behavior: 'allow', answers })).toEqual({ outcome: 'allowed' });
      expect(await task.resolved(asked)).toMatchObject({ by: 'local', input: { ...ask.input, answers } });
      await task.end();
      const [told] = task.toolResults();
      expect(told).toMatchObject({ isError: false });
      expect(told?.text).toContain('"Which color?"="Rather a warm red"');
      expect(told?.text).toMatch(/"Which sizes\?"="Blue, ?Green"/);
    },
  );

  test('a question may be refused; nothing of it can be remembered', async () => {
    const task = await TestTask.start(stage, [ask, end]);
    const asked = await task.asked();
    await expect(task.answer(asked, { behavior: 'allow', remember: 'run' })).rejects.toMatchObject({
      code: 'invalid',
    });
    await task.answer(asked, { behavior: 'deny', message: 'Decide yourself.' });
    await task.end();
    expect(task.toolResults()).toEqual([{ text: 'Decide yourself.', isError: true }]);
  });

  test('a plan is shown with its text; refused it is revised, allowed it is carried out', async () => {
    const steps = [propose, { ...propose, input: { plan: 'A better plan.' } }, touch('planned'), end];
    const task = await TestTask.start(stage, steps, { permissionMode: 'plan' });
    const first = await task.asked();
    expect(first.data).toMatchObject({ kind: 'plan', tool: 'ExitPlanMode', input: { plan } });
    await task.answer(first, { behavior: 'deny', message: 'Think again.' });
    const second = await task.asked();
    expect(second.data).toMatchObject({ kind: 'plan', input: { plan: 'A better plan.' } });
    expect(task.toolResults().at(-1)).toEqual({ text: 'Think again.', isError: true });
    await task.answer(second, { behavior: 'allow' });
    expect(await task.allow()).toMatchObject({ data: { kind: 'tool', input: touch('planned').input } });
    expect((await task.end()).data.state).toBe('completed');
    const modes = task
      .of('message')
      .flatMap(({ data }) => (data.subtype === 'status' && data.permissionMode) || []);
    expect(modes.at(-1)).toBe('default');
  });

  test('in plan mode a call is asked about, not judged by the CLI itself', async () => {
    const task = await TestTask.start(stage, [touch('while-planning'), end], { permissionMode: 'plan' });
    await task.answer(await task.asked(), { behavior: 'deny', message: 'Plan first.' });
    await task.end();
    expect(task.toolResults()).toEqual([{ text: 'Plan first.', isError: true }]);
  });
});
