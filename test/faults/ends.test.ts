import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Act, result, says, streams } from '../support/fake-acts.ts';
import { fakeClaude, playTask } from '../support/fake-task.ts';
import { Stage, until } from '../support/stage.ts';
import type { TestTask } from '../support/task.ts';
import { transcriptOf } from '../support/transcript.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open({ claude: fakeClaude });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Resolves once nothing of the task's is left: no process, no spool. Gives the time that took. */
async function gone({ client, agent }: TestTask): Promise<number> {
  const began = performance.now();
  await until(() => stage.processes().length === 0);
  const took = performance.now() - began;
  expect(await client.call('agent.get', { agent })).toMatchObject({ run: 1 });
  return took;
}

const partial: Act = { lines: streams('m', 'So far, ', 'so good') };

test('words on stderr and exit 1 before the result: failed, with the status and the last words', async () => {
  const words = Array.from({ length: 30 }, (_, i) => `word ${i}`);
  const task = await playTask(stage, [partial, { stderr: `${words.join('\n')}\n` }, { exit: 1 }]);
  const { data } = await task.end();
  expect(data).toMatchObject({ state: 'failed', reason: 'exited', exitCode: 1 });
  expect(data.detail).toMatch(/status 1 .*word 29$/s);
  expect(task.of('agent.stderr').map((fact) => fact.data)).toEqual([{ lines: words.slice(-20) }]);
  expect(await task.result()).toMatchObject({ reason: 'exited', text: 'So far, so good' });
});

test('exit 0 without a result is a failure, and keeps the text', async () => {
  const task = await playTask(stage, [{ lines: [says('All I know.')] }, { exit: 0 }]);
  expect((await task.end()).data).toMatchObject({ state: 'failed', reason: 'exited', exitCode: 0 });
  expect(await task.result()).toMatchObject({ text: 'All I know.' });
});

test('an error in a result of subtype success is a failure, and the text that came before it is kept', async () => {
  const words = 'API Error: 529 Overloaded';
  const task = await playTask(stage, [
    partial,
    { lines: [says(words, { error: 'server_error' }), result({ is_error: true, result: words })] },
  ]);
  const { data } = await task.end();
  expect(data).toMatchObject({ state: 'failed', reason: 'api_error' });
  expect(data.detail).toContain(words);
  expect(await task.result()).toMatchObject({ state: 'failed', text: 'So far, so good' });
});

test('an answer that ended early is a failure, though its result calls it a success', async () => {
  const task = await playTask(stage, [
    partial,
    { lines: [result({ stop_reason: null, result: 'So far, so good' })] },
  ]);
  expect((await task.end()).data).toMatchObject({ state: 'failed', reason: 'ended_early' });
  expect(await task.result()).toMatchObject({ state: 'failed', text: 'So far, so good' });
});

test('a process that hangs after its result is ended; the task is complete at once', async () => {
  const task = await playTask(stage, [
    { lines: [says('Done.'), result({ result: 'Done.' })] },
    { hang: true },
  ]);
  expect((await task.end()).data).toEqual({ state: 'completed' });
  expect(stage.processes()).not.toEqual([]);
  expect(await gone(task)).toBeLessThan(5_000);
  expect(task.states()).toEqual(['running', 'idle', 'completed']);
});

test('a process that ignores SIGTERM is gone within five seconds after a cancel', async () => {
  const task = await playTask(stage, [partial, { hang: true }], { start: { ignoreSigterm: true } });
  await task.client.until(() => transcriptOf(task.client, task.agent).live[0] === 'So far, so good');
  await task.client.call('task.cancel', { agent: task.agent });
  expect(await gone(task)).toBeLessThan(5_000);
  expect((await task.end()).data).toMatchObject({ state: 'cancelled' });
  expect(await task.result()).toMatchObject({ state: 'cancelled', text: 'So far, so good' });
});

test('a process that never says that it is ready can be cancelled', async () => {
  const task = await playTask(stage, [], { start: { mute: true } });
  await stage.processesOf(task.agent);
  await task.client.call('task.cancel', { agent: task.agent });
  await gone(task);
  expect(task.states()).toEqual(['cancelled']);
});

test('a task whose own PATH leads nowhere starts and ends like any other', async () => {
  const task = await playTask(stage, [{ lines: [says('Here.'), result()] }], {
    env: { PATH: '/nowhere' },
  });
  expect((await task.end()).data).toMatchObject({ state: 'completed' });
  await gone(task);
});
