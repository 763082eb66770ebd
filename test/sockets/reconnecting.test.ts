import { expect, test } from 'vitest';
import type { TestClient } from '../support/client.ts';
import { play, result, says } from '../support/fake-acts.ts';
import { fakeClaude } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';

/** Bytes of all `events` that came. */
function eventBytes({ frames }: TestClient): number {
  const events = frames.map(String).filter((frame) => frame.includes('"method":"events"'));
  return events.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0);
}

test('a reconnect costs what was missed, not what went before: five of them are sent no byte twice', async () => {
  await using stage = await Stage.open({ claude: fakeClaude });
  const starter = await stage.connect();
  const { agent, tree } = await starter.call('task.start', { cwd: stage.gateway.work, keepOpen: true });
  await starter.call('tree.subscribe', { tree, after: 'start', deltas: false });
  await starter.state(agent, 'idle');

  const talk = play([{ lines: [says('A word. '.repeat(2_000)), result()] }]);
  const { epoch } = await starter.welcome();
  let seq = 0;
  let received = 0;
  for (let turn = 1; turn <= 6; turn += 1) {
    const reader = await stage.connect();
    const { verdict, snapshot } = await reader.call('tree.subscribe', {
      tree,
      after: turn === 1 ? 'start' : { epoch, seq },
      deltas: false,
    });
    expect({ verdict, snapshot }).toEqual({ verdict: 'ok', snapshot: undefined });
    await starter.call('task.send', { agent, content: talk });
    await reader.fact('agent.state', ({ turn: of, data }) => data.state === 'running' && of === turn);
    const idle = await reader.state(agent, 'idle');
    const { seq: last } = await reader.fact(
      'agent.state',
      (fact) => fact.seq > seq && fact.data.state === 'idle',
    );
    seq = Math.max(idle.seq, last, reader.facts.at(-1)?.seq ?? 0);
    received += eventBytes(reader);
    await reader.close();
  }
  await starter.until(() => (starter.facts.at(-1)?.seq ?? 0) >= seq);
  const whole = eventBytes(starter);
  expect(whole).toBeGreaterThan(6 * 16_000);
  // The same facts, framed anew.
  expect(received / whole).toBeLessThan(1.05);
  await starter.call('task.cancel', { agent });
});
