import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claudeCommands } from '../support/claude-home.ts';
import { Stage } from '../support/stage.ts';
import { spawngate } from './command-line.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('the help lists every command, and each one lists its own flags', async () => {
  const { stdout, status } = await spawngate(stage, ['help']);
  expect(status).toBe(0);
  const names = [...stdout.matchAll(/^ {2}spawngate (\w+)/gm)].map(([, name = '']) => name);
  expect(names).toEqual(['serve', 'run', 'watch', 'ps', 'answer', 'cancel', 'send', 'doctor']);
  for (const name of names) {
    const help = await spawngate(stage, [name, '--help']);
    expect(help.stdout).toMatch(new RegExp(`^spawngate ${name}\\b.*: \\S`));
    expect(help.stdout).toContain(name === 'serve' ? '--places' : '--token-file');
    if (name !== 'serve') expect(help.stdout).toContain('--json');
  }
});

test('--help without a command gives the overview, with one its flags', async () => {
  const overview = (await spawngate(stage, ['help'])).stdout;
  expect((await spawngate(stage, ['--help'])).stdout).toBe(overview);
  expect((await spawngate(stage, ['--port', '1', '--help'])).stdout).toBe(overview);
  expect((await spawngate(stage, ['serve', '--help'])).stdout).not.toBe(overview);
});

test('a gateway that cannot start says in a line why', async () => {
  const { port } = new URL(stage.gateway.url);
  const data = join(stage.home, 'another');
  const free = ['--port', '0'];
  for (const [argv, words] of [
    [
      ['--port', port],
      `Port ${port} is taken, perhaps by another gateway. Stop it, or choose another with --port.`,
    ],
    [
      [...free, '--host', '192.0.2.1'],
      '192.0.2.1 is no address of this machine; choose another with --host.',
    ],
    [[...free, '--root', '/nowhere'], '/nowhere is no folder; choose another with --root.'],
    [[...free, '--root', '/dev/null'], '/dev/null is no folder; choose another with --root.'],
    [
      [...free, '--cases', '/dev/null/cases'],
      "/dev/null/cases can't be written; choose another folder with --data / --cases.",
    ],
  ] as const) {
    const { status, stderr } = await spawngate(stage, ['serve', ...argv], { SPAWNGATE_DATA: data });
    expect([status, stderr]).toEqual([1, `${words}\n`]);
  }
});

test('a gateway that cannot start ends, though agents of its folder are at work', async () => {
  await using other = await Stage.open();
  await other.start([{ hang: true }], { name: 'held' });
  await other.model.asked('held', 0);
  await other.gateway.kill();
  other.gateway.launch(undefined, ['--port', new URL(stage.gateway.url).port]);
  await other.gateway.ended();
  expect(other.gateway.log).toContain('is taken');
});

test('a hint is in the words that people called it by', async () => {
  const argv = ['ps', '--url', 'http://127.0.0.1:1'];
  expect((await spawngate(stage, argv)).stderr).toContain('`spawngate serve` starts one');
  const byNpm = await spawngate(stage, argv, { npm_lifecycle_event: 'spawngate' });
  expect(byNpm.stderr).toContain('`npm run -s spawngate -- serve` starts one');
});

describe('what people can mend is said in a line, with 1', () => {
  test.each([
    [['fly'], 'There is no command fly.'],
    [['answer', 'perm'], 'allow|deny is missing.'],
    [['answer', 'perm', 'perhaps'], 'Say allow or deny, not "perhaps".'],
    [['ps', 'what'], 'What is "what"?'],
    [['run', 'hello', 'world'], 'What is "world"? Put the prompt in quotes.'],
    [['ps', '--url', 'nowhere'], '--url: must be an address like'],
    [['ps', '--frob'], "Unknown option '--frob'"],
    [['ps', '--url', 'http://127.0.0.1:1'], 'No gateway answers at ws://127.0.0.1:1/v1/ws'],
    [['ps', '--token-file', '/nowhere/token'], 'There is no token in /nowhere/token'],
    [['run', 'x', '--cwd', '/'], 'root'],
    [['run', 'x', '--permission-mode', 'yolo'], '--permission-mode: '],
    [['answer', 'perm_x', 'allow'], 'perm_x'],
    [['cancel', 'agent_x'], 'agent_x'],
  ])('%j', async (argv, words) => {
    const { status, stdout, stderr } = await spawngate(stage, argv);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(words);
    expect(stderr).not.toContain('    at ');
  });

  test('with --json as one value', async () => {
    const { status, stderr } = await spawngate(stage, ['send', 'agent_x', 'hello', '--json']);
    expect(status).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { kind: 'request', code: 'not_found' } });
  });
});

test('the token comes from --token-file, else SPAWNGATE_TOKEN, else the data folder', async () => {
  const right = stage.gateway.token;
  const wrong = join(stage.home, 'wrong');
  writeFileSync(wrong, 'wrong');
  expect((await spawngate(stage, ['ps'])).status).toBe(0);
  expect(
    (await spawngate(stage, ['ps'], { SPAWNGATE_DATA: '/nowhere', SPAWNGATE_TOKEN: right })).status,
  ).toBe(0);
  const refused = await spawngate(stage, ['ps', '--token-file', wrong], { SPAWNGATE_TOKEN: right });
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain('close code 4501');
  expect(refused.stderr).toContain('--token-file');
});

test('doctor finds all well where it is', async () => {
  const argv = [
    'doctor',
    '--json',
    '--claude',
    JSON.stringify(claudeCommands['2.1.332']),
    '--cases',
    '<data>/new/cases',
  ];
  const { status, values } = await spawngate(stage, argv, { ANTHROPIC_API_KEY: 'sk-ant-x' });
  expect(values()).toEqual([
    { check: 'claude', ok: true, found: expect.stringContaining('2.1.332') },
    { check: 'login', ok: true, found: 'api_key' },
    { check: 'data', ok: true, found: stage.gateway.dataDir },
    { check: 'cases', ok: true, found: `${stage.gateway.dataDir}/new/cases (will be made)` },
    { check: 'root', ok: true, found: stage.gateway.work },
    { check: 'gateway', ok: true, found: expect.stringContaining(stage.gateway.url) },
  ]);
  expect(status).toBe(0);
});

test('doctor says of each thing that is not well what to do', async () => {
  const claude = JSON.stringify(claudeCommands['2.1.332']);
  const flags = [
    '--url',
    'http://127.0.0.1:1',
    '--claude',
    claude,
    '--cases',
    join(stage.gateway.dataDir, 'token', 'cases'),
    '--root',
    '/nowhere',
  ];
  const { status, stdout } = await spawngate(stage, ['doctor', ...flags]);
  expect(status).toBe(1);
  expect(stdout).toMatch(/^ok {3}claude {3}2\.1\.332/);
  expect(stdout).toMatch(/^BAD {2}login .*not logged in\n.*\/login/m);
  expect(stdout).toMatch(/^BAD {2}cases .*\n.*--cases/m);
  expect(stdout).toMatch(/^BAD {2}root .*nowhere.*\n.*--root/m);
  expect(stdout).toMatch(/^BAD {2}gateway .*\n.*spawngate serve/m);
});

test('doctor looks at what the configuration file of the data folder says', async () => {
  const data = join(stage.home, 'data');
  mkdirSync(data);
  writeFileSync(join(data, 'config.json'), JSON.stringify({ claude: ['/nowhere/claude'], places: 2 }));
  const { status, values } = await spawngate(stage, ['doctor', '--json'], { SPAWNGATE_DATA: data });
  expect(status).toBe(1);
  expect(values()[0]).toMatchObject({
    check: 'claude',
    ok: false,
    found: expect.stringContaining('/nowhere/claude'),
  });
  expect(values().at(-1)).toMatchObject({ check: 'gateway', ok: false, found: 'no token' });
});
