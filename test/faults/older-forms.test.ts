import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { result, says, streams } from '../support/fake-acts.ts';
import { fakeClaude, linesOf, playTask } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';
import type { TestTask } from '../support/task.ts';

// Forms of the spawn mechanism that came before: bare messages, and other signals that a turn is over.
let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open({ claude: fakeClaude });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const content = [{ type: 'text', text: 'Done.' }];
const bare = { role: 'assistant', content };
const legacy = { type: 'assistant', message: { content } };
const enveloped = { type: 'assistant', content };
const idle = { type: 'session_state_changed', state: 'idle' };
const idleNow = { type: 'system', subtype: 'session_state_changed', state: 'idle' };
const running = { type: 'session_state_changed', state: 'running' };

async function completed(task: TestTask, text = 'Done.'): Promise<void> {
  expect((await task.end()).data).toEqual({ state: 'completed' });
  expect(await task.result()).toMatchObject({ state: 'completed', text, turns: 1 });
}

describe('a task is complete', () => {
  test.each([
    ['a message with a final stop reason', [{ ...bare, stop_reason: 'end_turn' }]],
    ['the same in its envelope', [{ ...legacy, stop_reason: 'stop_sequence' }]],
    ['an idle session after a message', [running, bare, idle]],
    ['an idle session after an enveloped one', [running, legacy, idle]],
    ['an idle session, as newer CLIs say it', [enveloped, idleNow]],
    ['a result after a message', [bare, { type: 'result', result: 'Done.' }]],
    ['a result after an idle session', [legacy, idle, result({ result: 'Done.' })]],
    ['an idle session after streamed text', [...streams('m', 'Do', 'ne.'), idle]],
  ])('with %s', async (_, lines) => {
    await completed(await playTask(stage, [{ lines }]));
  });
});

test('a message that asks for a tool is no end, nor is an idle session before any output', async () => {
  const toolUse = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }] };
  const lines = [idle, idleNow, { ...toolUse, stop_reason: 'tool_use' }, { ...bare, stop_reason: null }];
  const task = await playTask(stage, [{ lines }, { wait: true }]);
  await task.client.until(() => task.of('message').some(({ data }) => data.stop_reason === null));
  expect(await task.get()).toMatchObject({ state: 'running' });
  await task.client.call('task.cancel', { agent: task.agent });
  await task.end();
});

test('an open agent is idle after each of them, and takes the next message', async () => {
  const task = await playTask(stage, [{ lines: [{ ...bare, stop_reason: 'end_turn' }] }], { keepOpen: true });
  await task.idle();
  await task.send('Anything.');
  await task.idle(2);
  expect(await task.get()).toMatchObject({ state: 'idle', turn: 2 });
  await task.close();
  expect((await task.end()).data).toEqual({ state: 'completed' });
});

test('lines after the end change nothing', async () => {
  const end = { ...bare, stop_reason: 'end_turn' };
  const late = [says('Late.'), result({ is_error: true, result: 'Late.' }), idle];
  const task = await playTask(stage, [{ lines: [end, ...late] }]);
  await completed(task);
  expect(task.of('agent.result')).toHaveLength(1);
  expect(task.of('message').at(-1)?.data).toMatchObject(end);
});

test('each form is passed on as it was written', async () => {
  const lines = [bare, legacy, enveloped, running].map((line) => JSON.stringify(line));
  const task = await playTask(stage, [{ raw: `${lines.join('\n')}\n` }, { lines: [idle] }]);
  await completed(task);
  expect(await linesOf(task)).toEqual(expect.arrayContaining(lines));
});
