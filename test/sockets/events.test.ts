import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { type Act, asks, play, result, says, streams } from '../support/fake-acts.ts';
import { fakeClaude } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open({ claude: fakeClaude });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

describe('a fact over the event limit', () => {
  /** A line whose characters have one, two, three and four bytes, so that slices may cut anywhere. */
  const text = 'aß€🙂'.repeat(200_000);
  const acts: Act[] = [{ lines: [says(text), result({ result: 'Done.' })] }];

  test.each(['json', 'msgpack'] as const)(
    'goes out without its data in %s, and its slices are the whole',
    async (encoding) => {
      const client = await stage.connect(encoding);
      const { agent } = await client.call('task.start', {
        cwd: stage.gateway.work,
        prompt: play(acts.map((act) => act)),
        subscribe: true,
      });
      await client.state(agent, 'completed', 'failed');
      const large = client.of('message').find(({ data }) => data === null);
      if (!large) throw new Error('no large fact came');
      expect(large).toMatchObject({
        data: null,
        size: expect.any(Number),
        message: expect.any(String),
        block: 0,
      });
      const { seq, size = 0 } = large as typeof large & { size?: number };
      let json = '';
      let slices = 0;
      while (json.length < size) {
        const slice = await client.call('event.get', { seq, from: json.length });
        expect(slice).toMatchObject({ from: json.length, size, to: json.length + slice.json.length });
        json += slice.json;
        slices += 1;
      }
      expect(slices).toBeGreaterThan(3);
      expect(JSON.parse(json).message.content[0].text).toBe(text);
      // From any place, and from the end.
      expect((await client.call('event.get', { seq, from: 1_001 })).json.slice(0, 50)).toBe(
        json.slice(1_001, 1_051),
      );
      expect(await client.call('event.get', { seq, from: size })).toEqual({
        from: size,
        to: size,
        size,
        json: '',
      });
      await expect(client.call('event.get', { seq, from: size + 1 })).rejects.toMatchObject({
        message: expect.stringContaining(`${size}`),
        data: { code: 'invalid', size },
      });
      expect(Math.max(...client.frames.map(({ length }) => length))).toBeLessThan(
        2 * 4 * limits.maxEventBytes,
      );
    },
  );
});

test('both encodings say the same', async () => {
  const [json, msgpack] = [await stage.connect(), await stage.connect('msgpack')];
  for (const client of [json, msgpack]) await client.call('tree.subscribe', { tree: '*' });
  const odd = {
    type: 'assistant',
    message: { id: 'odd', content: [{ type: 'text', text: '\u0000\u2028"\\/🙂\ufffd\ufeff\r\n' }] },
    // Floats, the ends of the integers of each length, nothing, and nothing in something.
    numbers: [0, -1, 0.1, -0.5, 1e-7, 1e21, 127, 128, -32, -33, 255, 256, -128, -129, 65_535, 65_536],
    larger: [2 ** 31, -(2 ** 31), 2 ** 32 - 1, 2 ** 32, -(2 ** 32), 2 ** 53 - 1, 1 - 2 ** 53, 1.5e300],
    empty: [null, '', [], {}, [[]], { '': { a: null } }],
    long: 'x'.repeat(70_000),
    '🙂': 'ß',
  };
  const acts: Act[] = [
    { lines: [...streams('odd', '🙂', 'ß€'), odd, asks('ask', 'Bash', { command: 'ls' })] },
    { until: { answerTo: 'ask' } },
    { lines: [result({ result: 'Done.' })] },
  ];
  const { agent } = await json.call('task.start', { cwd: stage.gateway.work, prompt: play(acts), name: 'ä' });
  const asked = await msgpack.fact('permission.requested', (fact) => fact.agent === agent);
  await msgpack.call('permission.answer', { permission: asked.data.permission, behavior: 'allow' });
  for (const client of [json, msgpack]) await client.state(agent, 'completed');
  expect(msgpack.facts).toEqual(json.facts);
  expect(json.facts.some(({ data }) => 'larger' in (data ?? {}))).toBe(true);
  // Deltas may be cut differently for none of them: they come in the same frames.
  expect(msgpack.events).toEqual(json.events);
  for (const method of ['agent.get', 'agent.result'] as const) {
    expect(await msgpack.call(method, { agent })).toEqual(await json.call(method, { agent }));
  }
  expect(await msgpack.call('tree.get', { tree: agent })).toEqual(
    await json.call('tree.get', { tree: agent }),
  );
});
