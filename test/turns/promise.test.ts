import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import { Stage } from '../support/stage.ts';
import { TestTask } from '../support/task.ts';

const completionPhrase = 'ALL DONE';
const promise = `<promise>${completionPhrase}</promise>`;

describe.each(claudeVersions)('CLI %s', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  /** The gateway's own words to the agent, as the CLI echoes them. */
  const reminders = (task: TestTask) =>
    task
      .of('message')
      .filter(({ data }) => data.isReplay && JSON.stringify(data.message).includes('Do not ask'));

  test('the task goes on until the agent itself says the phrase', async () => {
    const echo = { tool: 'Bash', input: { command: `echo "${promise}"`, description: promise } };
    const task = await TestTask.start(
      stage,
      [
        // Neither the prompt, nor a tool's input or output, nor a thought is the agent's own text.
        { ...echo, thinking: promise },
        { say: 'Half done.' },
        { say: 'Nearly. <promise>ALL</promise>' },
        { say: `Now it is. ${promise}` },
        { say: 'Unused.' },
      ],
      { completionPhrase, allowedTools: ['Bash'] },
    );
    expect((await task.end()).data.state).toBe('completed');
    expect(reminders(task)).toHaveLength(2);
    expect(await task.result()).toMatchObject({ text: `Now it is. ${promise}`, turns: 3 });
    expect(task.of('message.queued')).toEqual([]);
  });

  test('after five reminders the task fails: promise_not_kept', async () => {
    const steps = Array.from({ length: 8 }, (_, n) => ({ say: `Not yet ${n}.` }));
    const task = await TestTask.start(stage, steps, { completionPhrase });
    expect((await task.end()).data).toMatchObject({ state: 'failed', reason: 'promise_not_kept' });
    expect(reminders(task)).toHaveLength(5);
    expect(await task.result()).toMatchObject({ text: 'Not yet 5.', turns: 6 });
  });
});

test('an interrupted turn is no reason for a reminder; a kept promise completes an open agent, too', async () => {
  await using stage = await Stage.open();
  const task = await TestTask.start(stage, [{ hang: true }], { completionPhrase, keepOpen: true });
  await task.interrupt();
  await task.idle();
  await task.send([{ say: promise }]);
  expect((await task.end()).data.state).toBe('completed');
  expect(await task.result()).toMatchObject({ turns: 2 });
});
