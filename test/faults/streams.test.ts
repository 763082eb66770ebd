import { afterAll, beforeAll, expect, test } from 'vitest';
import { longestLine } from '../../src/claude/output.ts';
import { result, says, streams } from '../support/fake-acts.ts';
import { fakeClaude, linesOf, playTask } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';
import type { TestTask } from '../support/task.ts';
import { transcriptOf } from '../support/transcript.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open({ claude: fakeClaude });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const texts = (...lines: object[]) => lines.map((line) => JSON.stringify(line));
const end = { lines: [result({ result: 'End.' })] };

/** How many lines were told of as noise. */
function noiseOf(task: TestTask): number {
  const notices = task.of('agent.notice').filter(({ data }) => data.code === 'noise');
  return notices.reduce((sum, { data }) => sum + Number(data.lines), 0);
}

async function completed(task: TestTask): Promise<void> {
  expect((await task.end()).data).toEqual({ state: 'completed' });
}

test('output that comes byte by byte, within characters too, is delivered as it was written', async () => {
  const odd = `{ "type":"assistant" , "message":{"id":"m","content":[{"type":"text","text":"€🙂ß\\u20ac"}]}}`;
  const lines = [...texts(...streams('m', 'a€', '🙂ß')), odd];
  const task = await playTask(stage, [{ raw: `${lines.join('\n')}\n`, chunk: 1 }, end]);
  await completed(task);
  expect(await linesOf(task)).toContain(odd);
  expect(transcriptOf(task.client, task.agent).live).toEqual(['a€🙂ß']);
  expect(noiseOf(task)).toBe(0);
});

test('banners, broken JSON and JSON that is no object are counted and shown, and every line between them comes', async () => {
  const valid = texts(says('One.'), { type: 'weather', rain: [] }, says('Two.'), says('Three.'));
  const [one, two, three, four] = valid;
  const raw = [
    ...['Welcome to Claude!', '', one, '{"type":"assistant"', '', two, '"text"', '[1]', 'null'],
    ...[`${three}\r`, '\r', `${one}${two}`, four],
  ];
  const task = await playTask(stage, [{ raw: `${raw.join('\n')}\n` }, end], {
    start: { banner: 'A banner before all.\n\n' },
  });
  await completed(task);
  expect(await linesOf(task)).toEqual(expect.arrayContaining(valid));
  expect(noiseOf(task)).toBe(7);
  const [notice] = task.of('agent.notice');
  expect(notice?.data.message).toMatch(/no messages/);
});

test('a line of 12 MB is delivered whole', async () => {
  const task = await playTask(stage, [{ long: 12_000_000 }, end]);
  await completed(task);
  const large = task.of('message').find(({ data }) => data === null);
  expect(large).toMatchObject({ size: expect.any(Number) });
  const line = (await linesOf(task)).find((json) => json.length > 12_000_000);
  expect(JSON.parse(String(line)).message.content[0].text).toBe('x'.repeat(12_000_000));
});

test('a line over the limit is left out and told of, and the next one comes', async () => {
  const task = await playTask(stage, [{ long: longestLine }, { lines: [says('After it.')] }, end]);
  await completed(task);
  expect(task.texts()).toEqual(['After it.']);
  expect(noiseOf(task)).toBe(1);
});

test('a line that was cut is told of, and what was complete is kept', async () => {
  const half = texts(says('Never complete.'))[0]?.slice(0, -10);
  const acts = [{ lines: [says('Complete.')] }, { raw: String(half) }, { exit: 0 }];
  const task = await playTask(stage, acts);
  expect((await task.end()).data).toMatchObject({ state: 'failed', reason: 'ended_early', exitCode: 0 });
  expect(task.of('agent.notice').map(({ data }) => data)).toMatchObject([
    { code: 'partial_output', bytes: half?.length },
  ]);
  expect(await task.result()).toMatchObject({ state: 'failed', text: 'Complete.' });
});

test('a message that was cut while it was written is kept as partial text', async () => {
  const task = await playTask(stage, [{ lines: streams('m', 'So far, ', 'so good') }, { exit: 0 }]);
  expect((await task.end()).data).toMatchObject({ state: 'failed', reason: 'exited', exitCode: 0 });
  const partial = task.of('message').filter(({ data }) => data.partial);
  expect(partial).toMatchObject([{ message: 'm', block: 0 }]);
  expect(await task.result()).toMatchObject({ text: 'So far, so good' });
});
