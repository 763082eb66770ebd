import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeVersions } from '../support/claude-home.ts';
import type { TestClient } from '../support/client.ts';
import { allowToTheEnd, kill, Stage } from '../support/stage.ts';

const touch = { tool: 'Bash', input: { command: 'touch early', description: 'A file' } };

// Until its first turn is well under way the CLI has no session on disk, or half of one: `--resume` may fail.
describe.each(claudeVersions)('the CLI %s, killed early', (version) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ claude: version });
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test('as it starts, is started anew with its prompt', async () => {
    const { client, agent } = await stage.start([{ say: 'End.' }], { name: 'starting' });
    await killCli(agent);
    await completed(client, agent);
    expect(stage.model.stepsAsked('starting')).toEqual([0]);
  });

  test('as it is ready, goes on', async () => {
    const { client, agent } = await stage.start([{ say: 'End.' }], { name: 'ready' });
    await client.state(agent, 'running');
    await killCli(agent);
    await completed(client, agent);
  });

  test('at its init, goes on', async () => {
    const { client, agent } = await stage.start([{ say: 'End.' }], { name: 'init' });
    await client.fact('message', ({ data }) => data.subtype === 'init');
    await killCli(agent);
    await completed(client, agent);
  });

  test('at its first question, goes on', async () => {
    const { client, agent } = await stage.start([touch, { say: 'End.' }], { name: 'question' });
    const first = await client.fact('permission.requested');
    await killCli(agent);
    await allowToTheEnd(client, agent, first.seq);
    await completed(client, agent);
  });

  async function killCli(agent: string): Promise<void> {
    const [, cli] = await stage.processesOf(agent);
    kill(cli.pid);
  }
});

/** With the whole text, in at most three runs, and with no word of it twice. */
async function completed(client: TestClient, agent: string): Promise<void> {
  await client.state(agent, 'completed', 'failed');
  const states = client.of('agent.state', agent).map(({ data }) => data.state);
  expect(states.at(-1)).toBe('completed');
  expect(states.filter((state) => state === 'starting').length).toBeOneOf([1, 2]);
  expect(states).toContain('interrupted');
  expect(client.of('agent.result').map(({ data }) => data.text)).toEqual(['End.']);
  expect(await client.call('tree.get', { tree: agent })).toMatchObject({ permissions: [], queued: [] });
}
