import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Step, script } from '../support/model-script.ts';
import { Stage, until } from '../support/stage.ts';

/** The end of a task under that configuration, with the agent as it is told then. */
async function failureOf(
  options: Parameters<typeof Stage.open>[0],
  steps: Step[] = [{ say: 'Never said.' }],
) {
  await using stage = await Stage.open(options);
  const { client, agent } = await stage.start(steps);
  const { data } = await client.state(agent, 'failed', 'completed');
  expect(data.state).toBe('failed');
  const stderr = client.of('agent.stderr').flatMap(({ data: { lines } }) => lines);
  const result = client.of('agent.result').map(({ data: { state, reason } }) => ({ state, reason }));
  expect(result).toEqual([{ state: 'failed', reason: data.reason }]);
  expect(await client.call('agent.get', { agent })).toMatchObject({
    state: 'failed',
    reason: data.reason,
    detail: data.detail,
  });
  await until(() => stage.processes().length === 0);
  return { reason: data.reason, detail: data.detail ?? '', exitCode: data.exitCode, stderr };
}

test('a CLI that is not there: cli_missing, install it', async () => {
  const failure = await failureOf({ claude: ['/nowhere/claude'] });
  expect(failure).toMatchObject({ reason: 'cli_missing', exitCode: 127 });
  expect(failure.detail).toMatch(/not found\. Install it, or name it with --claude\..*\/nowhere\/claude/s);
});

test('a CLI that may not be run: cli_not_executable', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spawngate-cli-'));
  try {
    const file = join(folder, 'claude');
    writeFileSync(file, '#!/bin/sh\n', { mode: 0o600 });
    const failure = await failureOf({ claude: [file] });
    expect(failure).toMatchObject({ reason: 'cli_not_executable', exitCode: 126 });
    expect(failure.detail).toContain(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a CLI that says why and exits before any line: start_failed, with its words', async () => {
  const words = ['config.json: unexpected token', 'Set it right with `claude config`.'];
  const fake = `echo banner; printf '%s\\n' '${words.join("' '")}' >&2; exit 1`;
  const failure = await failureOf({ claude: ['/bin/sh', '-c', fake, 'claude'] });
  expect(failure).toMatchObject({ reason: 'start_failed', exitCode: 1, stderr: words });
  for (const line of words) expect(failure.detail).toContain(line);
  expect(failure.detail).toContain('status 1');
});

test('a CLI without a login: not_logged_in, log in', async () => {
  const failure = await failureOf({ env: { ANTHROPIC_API_KEY: undefined } });
  expect(failure.reason).toBe('not_logged_in');
  expect(failure.detail).toMatch(/log in, or set ANTHROPIC_API_KEY/);
});

test('an error of the model API: api_error, with its words', async () => {
  const message = 'Your credit balance is too low to access the Anthropic API.';
  const failure = await failureOf({}, [{ error: { status: 400, type: 'invalid_request_error', message } }]);
  expect(failure.reason).toBe('api_error');
  expect(failure.detail).toMatch(/credit balance is too low.*Resume the task once/i);
});

test('a working directory that is not there, or outside the roots, is refused', async () => {
  await using stage = await Stage.open({ claude: ['/nowhere/claude'] });
  const client = await stage.connect();
  const outside = mkdtempSync(join(tmpdir(), 'spawngate-outside-'));
  try {
    const cases = [
      [join(stage.gateway.work, 'missing'), 'cwd_missing', /Create it, or name another/],
      [outside, 'root', /under no allowed root\. Start the gateway with --root/],
    ] as const;
    for (const [cwd, rule, message] of cases) {
      const call = client.call('task.start', { prompt: script([]), cwd });
      await expect(call).rejects.toMatchObject({
        code: 'refused',
        data: { rule },
        message: expect.stringMatching(message),
      });
    }
    expect((await client.call('tree.get', { tree: '*' })).agents).toEqual([]);
  } finally {
    rmSync(outside, { recursive: true });
  }
});

test('a working directory that vanishes before the process starts: cwd_missing, create it', async () => {
  await using stage = await Stage.open({ claude: ['/nowhere/claude'] });
  const cwd = join(stage.gateway.work, 'vanishing');
  mkdirSync(cwd);
  // The gateway dies between the admission and the spawn; the next one starts what was admitted.
  await stage.gateway.kill();
  await stage.gateway.start('before-spawn');
  const client = await stage.connect();
  await client.call('task.start', { prompt: script([]), cwd }).catch(() => undefined);
  await stage.gateway.ended();
  rmdirSync(cwd);
  await stage.gateway.start();
  const again = await stage.connect();
  await again.call('tree.subscribe', { tree: '*', after: 'start' });
  const { data } = await again.fact('agent.state', (fact) => fact.data.state === 'failed');
  expect(data).toMatchObject({ reason: 'cwd_missing', detail: expect.stringContaining('Create it') });
});
