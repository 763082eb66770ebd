import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findProcess, isDead } from '../../src/claude/processes.ts';
import type { TestClient } from '../support/client.ts';
import { Stage, textOf, until } from '../support/stage.ts';

const goneWithinMs = 5_000;

/** Children of every kind, all deaf to SIGTERM: in a session of their own, without a parent, both. */
const everyKind = `
deaf="trap '' TERM HUP; echo \\$\\$ >>pids; tail -f /dev/null; :"
setsid sh -c "$deaf" &
(sh -c "$deaf" &)
nohup sh -c "$deaf" >/dev/null 2>&1 &
setsid sh -c '(sh -c "$0" &)' "$deaf" &
sh -c "$deaf"`;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('cancelling leaves none of the processes that the agent started, and no stranger is touched', async () => {
  const stranger = spawn('tail', ['-f', '/dev/null'], { detached: true, stdio: 'ignore', cwd: '/' });
  await once(stranger, 'spawn');
  try {
    const input = { command: everyKind, description: 'Everything' };
    const { client, agent } = await stage.start([{ tool: 'Bash', input }], { allowedTools: ['Bash'] });
    const pids = await until(() => {
      const found = textOf(join(stage.gateway.work, 'pids')).trim().split('\n').map(Number);
      return found.length === 5 && found;
    });
    expect(pids.map(lives)).toEqual([true, true, true, true, true]);
    const asked = performance.now();
    expect(await client.call('task.cancel', { agent, reason: 'Enough.' })).toEqual({ cancelled: [agent] });
    const { data } = await client.state(agent, 'cancelled');
    expect(data).toMatchObject({ state: 'cancelled', detail: 'Enough.' });
    await until(() => stage.processes().length === 0 && !pids.some(lives));
    console.info(`nothing was left ${Math.round(performance.now() - asked)} ms after the call`);
    expect(performance.now() - asked).toBeLessThan(goneWithinMs);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    expectOneEnd(client, agent);
    expect(await client.call('task.cancel', { agent })).toEqual({ cancelled: [] });
  } finally {
    stranger.kill('SIGKILL');
  }
});

// The process comes up between 10 ms and a second after the start.
test.each([0, 1, 10, 100, 400])(
  'an agent that is cancelled %i ms after its start has one end',
  async (ms) => {
    const { client, agent } = await stage.start([{ say: 'Too late.', chunk: 1, delayMs: 50 }]);
    if (ms > 0) await delay(ms);
    const asked = performance.now();
    const calls = [client.call('task.cancel', { agent }), client.call('task.cancel', { agent })];
    expect(await Promise.all(calls)).toEqual([{ cancelled: [agent] }, { cancelled: [] }]);
    await client.state(agent, 'cancelled');
    // The run is closed: whoever was still on its way has come too late.
    await until(() => !existsSync(stage.spool(agent, 1)));
    expect(stage.processes()).toEqual([]);
    expect(performance.now() - asked).toBeLessThan(goneWithinMs);
    expectOneEnd(client, agent);
  },
);

test('cancelling again after the end changes nothing', async () => {
  const { client, agent } = await stage.start([{ say: 'Done.' }]);
  await client.state(agent, 'completed');
  expect(await client.call('task.cancel', { agent })).toEqual({ cancelled: [] });
  await until(() => stage.processes().length === 0);
  expect(await client.call('agent.result', { agent })).toMatchObject({ state: 'completed', text: 'Done.' });
});

function expectOneEnd(client: TestClient, agent: string): void {
  const ends = client.of('agent.result', agent);
  expect(ends.map(({ data }) => data.state)).toEqual(['cancelled']);
  expect(client.facts.at(-1)).toMatchObject({ type: 'agent.state', data: { state: 'cancelled' } });
  expect(client.facts.at(-2)).toMatchObject({ type: 'agent.result' });
}

/** A zombie waits only for its parent to notice. */
function lives(pid: number): boolean {
  const found = findProcess(pid);
  return found !== undefined && !isDead(found);
}
