import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Step, script } from '../support/model-script.ts';
import { Stage } from '../support/stage.ts';
import { CommandLine, spawngate } from './command-line.ts';

const touch = (file: string) => ({
  tool: 'Bash',
  input: { command: `touch ${file}`, description: 'A file' },
});

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const run = (steps: Step[], { flags = [], name }: { flags?: string[]; name?: string } = {}) =>
  new CommandLine(stage, ['run', script(steps, name === undefined ? {} : { name }), ...flags]);
const made = (file: string) => existsSync(join(stage.gateway.work, file));

test('run shows the text, asks for permissions, takes y and n and a reason, and ends with 0', async () => {
  const command = run([
    { ...touch('yes'), say: 'I will touch it.', chunk: 3 },
    touch('no'),
    touch('because'),
    { say: 'That \u001b[31mwas\u0007 all.', chunk: 2 },
  ]);
  for (const [file, answer] of [
    ['yes', 'y'],
    ['no', 'n'],
    ['because', 'Not in this house.'],
  ] as const) {
    await command.said(new RegExp(`Bash touch ${file}\nAllow\\? y, n, or why not: $`));
    command.type(answer);
  }
  expect(await command.status).toBe(0);
  // Each tool call ends the line; a control character would steer the terminal.
  expect(command.stdout).toBe('I will touch it.\n\n\nThat [31mwas all.\n');
  expect(command.stderr).toContain('denied by local: Not in this house.');
  expect([made('yes'), made('no'), made('because')]).toEqual([true, false, false]);
});

test('run --json prints the events and waits; the permission is answered by `spawngate answer` in another process', async () => {
  const command = run([touch('elsewhere'), { say: 'Done.' }], { flags: ['--json', '--name', 'waiter'] });
  const asked = await command.until(({ values }) =>
    values.find(({ type }) => type === 'permission.requested'),
  );
  expect(command.values[0]).toMatchObject({ type: 'agent.created', data: { name: 'waiter' } });
  const answered = await spawngate(stage, ['answer', asked.data.permission, 'allow', '--json']);
  expect([answered.status, answered.values()]).toEqual([0, [{ outcome: 'allowed' }]]);
  expect(await command.status).toBe(0);
  const types = command.values.map(({ type }) => type);
  expect(types).toContain('delta');
  expect(command.values.at(-2)).toMatchObject({ type: 'agent.result', data: { text: 'Done.' } });
  expect(command.values.at(-1)).toMatchObject({ type: 'agent.state', data: { state: 'completed' } });
  expect(made('elsewhere')).toBe(true);
  expect(command.stderr).toBe('');

  const late = await spawngate(stage, ['answer', asked.data.permission, 'deny', '--json']);
  expect(late.status).toBe(1);
  expect(JSON.parse(late.stderr)).toMatchObject({ error: { kind: 'request', code: 'already_answered' } });
});

test('a question that is answered elsewhere is withdrawn here; where nobody sits, the command is told', async () => {
  const command = run([touch('a'), touch('b'), { say: 'Done.' }]);
  await command.said(/touch a\nAllow\?/);
  const { permissions } = await (await stage.connect()).call('permission.list', {});
  const permission = permissions[0]?.permission ?? '';
  expect(await spawngate(stage, ['answer', permission, 'deny', 'Not that one.'])).toMatchObject({
    stdout: 'denied\n',
  });
  await command.said('denied by local: Not that one.');
  await command.said(/touch b\nAllow\?/);
  command.hangUp();
  const [line, other = ''] = await command.said(/It waits for: spawngate answer (\S+) allow.*\n/);
  expect(other).not.toBe(permission);
  const { url, dataDir } = stage.gateway;
  expect(line).toBe(
    `It waits for: spawngate answer ${other} allow|deny ["message"] --url ${url} --data ${dataDir}\n`,
  );
  const asks = `asks (${other}): Bash touch b`;
  expect((await spawngate(stage, ['ps'])).stdout).toContain(`(waits for an answer to ${other})`);
  const watcher = new CommandLine(stage, ['watch']);
  await watcher.until(({ stdout }) => stdout.includes(asks));
  watcher.signal('SIGINT');
  expect(await watcher.status).toBe(0);
  expect((await spawngate(stage, ['answer', other, 'allow'])).status).toBe(0);
  expect(await command.status).toBe(0);
  expect([made('a'), made('b')]).toEqual([false, true]);
});

test('the questions of Claude are answered by number or in own words', async () => {
  const questions = [
    { question: 'Which one?', header: 'One', multiSelect: false, options: ['Red', 'Blue'] },
    { question: 'Which all?', header: 'All', multiSelect: true, options: ['Tea', 'Milk', 'Rum'] },
    { question: 'Why?', header: 'Why', multiSelect: false, options: ['So', 'Otherwise'] },
  ].map((question) => ({
    ...question,
    options: question.options.map((label) => ({ label, description: `${label}!` })),
  }));
  const command = run([{ tool: 'AskUserQuestion', input: { questions } }, { say: 'I see.' }], {
    flags: ['--name', 'asker'],
  });
  await command.said(/Which one\?\n {2}1\. Red: Red!\n {2}2\. Blue: Blue!\nA number, or your own words: $/);
  command.type('2');
  await command.said(/Numbers with commas, or your own words: $/);
  command.type('1,3');
  await command.said(/Why\?[\s\S]*words: $/);
  command.type('Just because');
  expect(await command.status).toBe(0);
  const client = await stage.connect();
  const { agents } = await client.call('agent.list', {});
  const agent = agents.find(({ name }) => name === 'asker')?.id ?? '';
  await client.call('tree.subscribe', { tree: agent, after: 'start' });
  const { data } = await client.fact('permission.resolved');
  expect(data).toMatchObject({
    input: { answers: { 'Which one?': 'Blue', 'Which all?': ['Tea', 'Rum'], 'Why?': 'Just because' } },
  });
});

test('a task that fails ends it with 1, and says why', async () => {
  const step = { error: { status: 400, type: 'invalid_request_error', message: 'scripted refusal' } };
  const command = run([step]);
  expect(await command.status).toBe(1);
  expect(command.stderr).toMatch(/^failed: .*scripted refusal/m);
});

test('Ctrl-C interrupts; what is said then goes on, here or by `spawngate send`', async () => {
  const command = run([{ hang: true }], { name: 'held' });
  await stage.model.asked('held', 0);
  command.signal('SIGINT');
  await command.said('What now?');
  command.type(script([{ hang: true }], { name: 'held again' }).replaceAll('\n', ' '));
  await stage.model.asked('held again', 0);
  command.signal('SIGINT');
  await command.said(/What now[\s\S]*What now/);
  command.hangUp();
  const [, agent = ''] = await command.said(/It waits for: spawngate send (\S+) "text"/);
  const sent = await spawngate(stage, ['send', agent, script([{ say: 'On we go.' }]), '--json']);
  expect(sent.values()).toMatchObject([{ message: expect.any(String), position: 1 }]);
  expect(await command.status).toBe(0);
  expect(command.stdout).toBe('On we go.\n');
});

test('Ctrl-C before Claude runs counts, too: the next one cancels', async () => {
  const command = run([{ hang: true }], { flags: ['--json'] });
  await command.until(({ values }) => values.some(({ data }) => data?.state === 'starting'));
  command.signal('SIGINT');
  await command.said('Interrupting;');
  await command.until(({ values }) => values.some(({ data }) => data?.state === 'idle'));
  command.signal('SIGINT');
  expect(await command.status).toBe(130);
  expect(command.values.map(({ data }) => data?.state)).toContain('running');
  expect(command.stderr).toMatch(/^Interrupting;.*\nCancelling;.*\n$/);
});

test('Ctrl-C twice cancels: 130', async () => {
  const command = run([{ hang: true }], { name: 'twice', flags: ['--json'] });
  await stage.model.asked('twice', 0);
  command.signal('SIGINT');
  await command.until(({ values }) => values.some(({ data }) => data?.state === 'idle'));
  command.signal('SIGINT');
  expect(await command.status).toBe(130);
  expect(command.values.at(-1)).toMatchObject({ data: { state: 'cancelled', detail: 'Ctrl-C' } });
  expect(command.stderr).toMatch(/^Interrupting;.*\nCancelling;.*\n$/);
});

test('a task that somebody cancels ends it with 130; ps lists it till then, watch shows its end', async () => {
  const command = run([{ hang: true }], { name: 'listed', flags: ['--name', 'listed'] });
  await stage.model.asked('listed', 0);
  const listed = (await spawngate(stage, ['ps', '--json'])).values();
  expect(listed).toMatchObject([{ name: 'listed', state: 'running' }]);
  const [{ id }] = listed;
  expect((await spawngate(stage, ['ps'])).stdout).toMatch(
    new RegExp(`^${id} {2}running {2}\\$0\\.00 {2}listed\n$`),
  );

  const watchers = [['watch'], ['watch', id], ['watch', id, '--json']].map(
    (argv) => new CommandLine(stage, argv),
  );
  for (const watcher of watchers) await watcher.until(({ stdout }) => stdout.includes(id));
  const cancelled = await spawngate(stage, ['cancel', id, 'enough', '--json']);
  expect(cancelled.values()).toEqual([{ cancelled: [id] }]);
  expect(await command.status).toBe(130);
  expect(command.stderr).toContain('cancelled: enough');

  const [all, one, json] = watchers as [CommandLine, CommandLine, CommandLine];
  for (const { stdout } of [all, one]) {
    expect(stdout.split('\n')[0]).toBe(`${id} listed  running`);
  }
  await json.until(({ values }) => values.some(({ data }) => data?.state === 'cancelled'));
  for (const watcher of [all, one])
    await watcher.until(({ stdout }) => /^\d\d:\d\d:\d\d listed {2}cancelled: enough$/m.test(stdout));
  expect(json.values[0]).toMatchObject({ type: 'snapshot', snapshot: { agents: [{ id }] } });
  for (const watcher of watchers) {
    watcher.signal('SIGINT');
    expect(await watcher.status).toBe(0);
  }
  expect((await spawngate(stage, ['ps'])).stdout).toBe('');
  expect((await spawngate(stage, ['ps', '--all'])).stdout).toContain(id);
  expect((await spawngate(stage, ['cancel', id])).stdout).toBe('It had ended before.\n');
});

test('over kill -9 of the gateway, run goes on where it was', async () => {
  const text = 'On and on it goes. '.repeat(20);
  const command = run([{ say: text, chunk: 2, delayMs: 10 }]).hangUp();
  await command.until(({ stdout }) => stdout.length > 80);
  const { port } = new URL(stage.gateway.url);
  await stage.gateway.kill();
  await command.said('The connection to the gateway was lost; coming back');
  await stage.gateway.start(undefined, ['--port', port]);
  expect(await command.status).toBe(0);
  expect(command.stdout).toBe(`${text}\n`);
  expect(command.stderr).toContain('Connected again');
});
