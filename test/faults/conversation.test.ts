import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Act, asks, result, says } from '../support/fake-acts.ts';
import { fakeClaude, playTask } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';
import type { TestTask } from '../support/task.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open({ claude: fakeClaude });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const done: Act = { lines: [says('Done.'), result({ result: 'Done.' })] };
const question = { type: 'user', message: { role: 'user', content: 'Shall I go on?' } };
const reminder = 'Continue. Do not ask for confirmation.';

async function completed(task: TestTask): Promise<void> {
  expect((await task.end()).data).toEqual({ state: 'completed' });
}

/** What came on the fake's stdin, parsed; the acts must have asked for it. */
function received(task: TestTask): Record<string, unknown>[] {
  const report = task.of('message').findLast(({ data }) => data?.type === 'received');
  return (report?.data.lines as Record<string, unknown>[]) ?? [];
}

const remindersIn = (task: TestTask) =>
  received(task).filter(({ message }) => (message as { content?: unknown })?.content === reminder);

test('a question that waits for a human is answered at once, five times and no more', async () => {
  const rounds = Array.from({ length: 5 }, (): Act[] => [{ lines: [question] }, { until: 'message' }]);
  const task = await playTask(stage, [...rounds.flat(), { lines: [question] }, { report: true }, done]);
  await completed(task);
  expect(remindersIn(task)).toHaveLength(5);
});

test('tool results, echoes and notes of the CLI’s are no questions', async () => {
  const content = [{ type: 'text', text: 'Some text' }];
  const message = { role: 'user', content };
  const lines = [
    { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't' }] } },
    { type: 'user', message, tool_use_result: { stdout: '' } },
    { type: 'user', message, isReplay: true, uuid: randomUUID() },
    { type: 'user', message, isSynthetic: true },
    { type: 'user', message, parent_tool_use_id: 't' },
    {
      type: 'user',
      message: { role: 'user', content: [{ type: 'text', text: '[Request interrupted by user]' }] },
    },
  ];
  const task = await playTask(stage, [{ lines }, { report: true }, done]);
  await completed(task);
  expect(remindersIn(task)).toEqual([]);
});

test('more than two thousand echoes pass, and are no questions', async () => {
  const message = { role: 'user', content: 'Some text' };
  const lines = Array.from({ length: 20 }, (_, i) => ({
    raw: Array.from({ length: 125 }, (_, j) => {
      const echo = { type: 'user', isReplay: true, uuid: `echo ${i} ${j}`, message };
      return `${JSON.stringify(echo)}\n`;
    }).join(''),
  }));
  const task = await playTask(stage, [...lines, { report: true }, done]);
  await completed(task);
  const echoes = task.of('message').filter(({ data }) => String(data?.uuid).startsWith('echo '));
  expect(echoes).toHaveLength(2_500);
  expect(remindersIn(task)).toEqual([]);
});

test('a request that we don’t serve is answered with an error, so that nobody waits', async () => {
  const request = { type: 'control_request', request_id: 'elicit-1', request: { subtype: 'elicitation' } };
  const task = await playTask(stage, [
    { lines: [request] },
    { until: { answerTo: 'elicit-1' } },
    { report: true },
    done,
  ]);
  await completed(task);
  expect(received(task).at(-1)).toMatchObject({
    type: 'control_response',
    response: { subtype: 'error', request_id: 'elicit-1', error: 'not supported: elicitation' },
  });
});

test('a permission that is asked for twice is one, answered once; asked again it stays answered', async () => {
  const ask = asks('ask-1', 'Bash', { command: 'touch x' });
  const task = await playTask(stage, [
    { lines: [ask, ask] },
    { until: { answerTo: 'ask-1' } },
    { lines: [ask, says('Asked again.')] },
    { report: true },
    done,
  ]);
  await task.allow();
  await completed(task);
  expect(task.of('permission.requested')).toHaveLength(1);
  expect(task.of('permission.resolved').map(({ data }) => data.outcome)).toEqual(['allowed']);
  const answers = received(task).filter(({ type }) => type === 'control_response');
  expect(answers).toMatchObject([
    {
      response: {
        subtype: 'success',
        request_id: 'ask-1',
        response: { behavior: 'allow', updatedInput: { command: 'touch x' } },
      },
    },
  ]);
  // The older bridge's `response_id` at the top would hang the CLI.
  expect(answers[0]).not.toHaveProperty('response_id');
});

test('every line that the gateway writes is one that the CLI takes', async () => {
  const task = await playTask(stage, [{ lines: [says('First.'), result()] }], { keepOpen: true });
  await task.idle();
  await task.client.call('task.configure', { agent: task.agent, model: 'x', permissionMode: 'acceptEdits' });
  await task.send('\u2028"}\n{"type":"user"}\r\n\0\ud800');
  await task.idle(2);
  await task.close();
  await completed(task);
});
