import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProcess, isAlive, isDead } from '../../src/claude/processes.ts';
import type { TestClient } from '../support/client.ts';
import { allowToTheEnd, kill, Stage, textOf, until } from '../support/stage.ts';
import { transcriptOf } from '../support/transcript.ts';

/** What the gateway is given to notice; an idle machine takes a fifth of it. */
const noticedWithinMs = 1_500;
const long = 'A long text that is cut off in the middle of it. '.repeat(40);
const touch = (file: string) => ({
  tool: 'Bash',
  input: { command: `touch ${file}`, description: 'A file' },
});

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Kills the CLI as the system's out-of-memory killer would. Gives the time, as facts have it. */
async function killCli(agent: string): Promise<number> {
  const [, cli] = await stage.processesOf(agent);
  const at = Date.now();
  kill(cli.pid);
  return at;
}

async function interruption(client: TestClient, agent: string, killedAt: number) {
  const fact = await client.state(agent, 'interrupted');
  expect(fact.data).toMatchObject({ reason: 'crashed', resuming: true, exitCode: 137 });
  const took = fact.at - killedAt;
  console.info(`${expect.getState().currentTestName}: noticed after ${took} ms`);
  expect(took).toBeLessThan(noticedWithinMs);
}

/** The states in order, with their runs; `idle` between a turn and the end is nobody's concern here. */
function statesOf(client: TestClient, agent: string): string[] {
  const states = client.of('agent.state', agent).filter(({ data }) => data.state !== 'idle');
  return states.map(({ data }) => `${data.state}${data.run ? ` ${data.run}` : ''}`);
}

/** A zombie waits only for its parent to notice. */
function lives(pid: number): boolean {
  const found = findProcess(pid);
  return found !== undefined && !isDead(found);
}

/** Where the session had not reached the disk, a third run opens it anew. */
function expectResumed(client: TestClient, agent: string): void {
  const states = statesOf(client, agent);
  expect(states.slice(0, 3)).toEqual(['running 1', 'interrupted', 'starting 2']);
  expect(states.at(-1)).toBe('completed');
  expect(states.filter((state) => state.startsWith('running')).length).toBe(2);
}

describe('the CLI, killed', () => {
  test('mid-stream, is resumed, and the step that was cut is done', async () => {
    const name = 'mid-stream';
    const { client, agent } = await stage.start([{ say: long, chunk: 5, delayMs: 3 }, { say: 'Unused.' }], {
      name,
    });
    await client.until(() => (transcriptOf(client, agent).live[0]?.length ?? 0) > 100);
    await interruption(client, agent, await killCli(agent));
    await client.state(agent, 'completed');
    expectResumed(client, agent);
    const partial = client.of('message').find(({ data }) => data.partial);
    const [cut, whole] = transcriptOf(client, agent).complete;
    expect(partial?.data).toMatchObject({ message: { content: [{ type: 'text', text: cut }] } });
    expect(long.startsWith(String(cut))).toBe(true);
    expect(whole).toBe(long);
    expect(stage.model.stepsAsked(name)).toEqual([0, 0]);
    expect(client.of('agent.result').map(({ data }) => data)).toMatchObject([{ text: long, atLeast: true }]);
  });

  test('with a permission open, withdraws it; what is asked anew is another one', async () => {
    const name = 'permission';
    const { client, agent } = await stage.start(
      [{ say: 'First.', ...touch('first') }, touch('second'), { say: 'End.' }],
      { name },
    );
    const first = await client.fact('permission.requested');
    await client.call('permission.answer', { permission: first.data.permission, behavior: 'allow' });
    const second = await client.fact('permission.requested', ({ seq }) => seq > first.seq);
    const { permission } = second.data;
    const killedAt = await killCli(agent);
    const { data, at } = await client.fact(
      'permission.resolved',
      (fact) => fact.data.permission === permission,
    );
    expect(data).toEqual({ permission, outcome: 'withdrawn' });
    expect(at - killedAt).toBeLessThan(noticedWithinMs);
    await interruption(client, agent, killedAt);
    await expect(client.call('permission.answer', { permission, behavior: 'allow' })).rejects.toMatchObject({
      code: 'withdrawn',
    });
    await allowToTheEnd(client, agent, second.seq);
    await client.state(agent, 'completed');
    expectResumed(client, agent);
    expect(await client.call('permission.list', { tree: agent })).toEqual({ permissions: [] });
    expect(await client.call('agent.result', { agent })).toMatchObject({ text: 'End.' });
  });

  test('during a shell, leaves no shell behind and tells the model what was cut', async () => {
    const name = 'shell';
    const input = {
      command: '[ -e shell.pid ] && exit; echo $$ > shell.pid; tail -f /dev/null',
      description: 'Wait',
    };
    const { client, agent } = await stage.start([{ tool: 'Bash', input }, { say: 'End.' }], {
      name,
      allowedTools: ['Bash'],
    });
    const shell = await until(() => Number(textOf(join(stage.gateway.work, 'shell.pid'))));
    await interruption(client, agent, await killCli(agent));
    await client.state(agent, 'completed');
    expectResumed(client, agent);
    expect(lives(shell)).toBe(false);
    expect(JSON.stringify(client.of('message'))).toContain('may or may not have taken effect: Bash');
    expect(stage.model.stepsAsked(name).at(-1)).toBe(1);
  });

  test('fails the task that asked for that, and the text so far is its result', async () => {
    const { client, agent } = await stage.start([{ say: long, chunk: 5, delayMs: 3 }], { onCrash: 'fail' });
    await client.until(() => (transcriptOf(client, agent).live[0]?.length ?? 0) > 100);
    await killCli(agent);
    const { data } = await client.state(agent, 'failed');
    expect(data).toMatchObject({ state: 'failed', reason: 'crashed', exitCode: 137 });
    const [text] = transcriptOf(client, agent).complete;
    expect(text?.length).toBeGreaterThan(100);
    expect(client.of('message').at(-1)?.data).toMatchObject({ partial: true });
    expect(await client.call('agent.result', { agent })).toMatchObject({
      state: 'failed',
      reason: 'crashed',
      text,
    });
  });

  test('without its wrapper, works on and completes', async () => {
    const { client, agent } = await stage.start([{ ...touch('orphaned'), say: 'Working.' }, { say: 'End.' }]);
    const { permission } = (await client.fact('permission.requested')).data;
    const [wrapper, cli] = await stage.processesOf(agent);
    kill(wrapper.pid);
    await until(() => !isAlive(wrapper));
    expect(isAlive(cli)).toBe(true);
    await client.call('permission.answer', { permission, behavior: 'allow' });
    await client.state(agent, 'completed');
    expect(statesOf(client, agent)).toEqual(['running 1', 'completed']);
    await until(() => !isAlive(cli));
  });
});

test('a CLI that dies three times in a row without a message is given up', async () => {
  await using stage = await Stage.open({ claude: ['/bin/sh', '-c', 'kill -KILL $$'] });
  const { client, agent } = await stage.start([]);
  const { data } = await client.state(agent, 'failed');
  expect(data).toMatchObject({
    reason: 'crash_loop',
    exitCode: 137,
    detail: expect.stringContaining('3 runs'),
  });
  expect(statesOf(client, agent)).toEqual([
    'interrupted',
    'starting 2',
    'interrupted',
    'starting 3',
    'failed',
  ]);
  await until(() => stage.processes().length === 0);
});
