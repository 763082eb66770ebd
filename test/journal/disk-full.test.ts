import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Stage, until } from '../support/stage.ts';
import { transcriptOf } from '../support/transcript.ts';

/** From now on a process can make no file longer than that: the same errors as on a full disk. */
function limitFiles(pid: number, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

/** Commits two facts of a size, or only says whether the journal can be written. */
const writerScript = `
  import { SqliteJournal } from ${JSON.stringify(new URL('../../src/journal/sqlite.ts', import.meta.url).href)};
  const journal = new SqliteJournal(process.argv[1]);
  process.on('message', async (asked) => process.send({
    ...(asked !== 'look' && (await commit(asked))),
    isReady: journal.problem === undefined,
  }));
  async function commit(units) {
    const fact = { tree: 'a', agent: 'a', at: 1, type: 'message', data: JSON.stringify('x'.repeat(units)) };
    const failure = await journal.commit({ facts: [fact, fact], changes: [] }).then(() => null, (error) => error.constructor.name);
    const { facts } = await journal.read({}, 0, Number.MAX_SAFE_INTEGER);
    return { failure, seqs: facts.map(({ seq }) => seq), head: journal.head };
  }
  // As the gateway does.
  process.on('SIGXFSZ', () => {});
  process.on('disconnect', () => process.exit());
  process.send('ready');
`;

test('a commit that finds no room is not there at all; reading works on, and so does writing once there is room', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spawngate-full-'));
  const argv = ['--input-type=module', '-e', writerScript, join(folder, 'journal.db')];
  const writer = fork('-', [], { execPath: process.execPath, execArgv: argv });
  try {
    await once(writer, 'message');
    const commit = async (units: number) => {
      writer.send(units);
      return (await once(writer, 'message'))[0];
    };
    const refused = { failure: 'JournalUnavailable', seqs: [1, 2], head: 2 };
    expect(await commit(10)).toEqual({ failure: null, seqs: [1, 2], head: 2, isReady: true });
    limitFiles(Number(writer.pid), 200_000);
    // The second is more than the page cache holds back, so that it fails before the end of the transaction.
    for (const units of [300_000, 8_000_000]) expect(await commit(units)).toMatchObject(refused);
    limitFiles(Number(writer.pid), 0);
    expect(await commit(10)).toEqual({ ...refused, isReady: false });
    limitFiles(Number(writer.pid), 'unlimited');
    writer.send('look');
    expect((await once(writer, 'message'))[0]).toEqual({ isReady: true });
    expect(await commit(300_000)).toEqual({ failure: null, seqs: [1, 2, 3, 4], head: 4, isReady: true });
  } finally {
    const ended = once(writer, 'exit');
    writer.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true });
  }
});

test('a gateway on a full disk serves nothing new, loses nothing, and goes on by itself', async () => {
  await using stage = await Stage.open();
  const touch = { tool: 'Bash', input: { command: 'touch made', description: 'A file' } };
  const says = ['While the disk fills up. '.repeat(20), 'And there is room again. '.repeat(20)];
  const { client, agent } = await stage.start(
    [
      { say: String(says[0]), chunk: 5, delayMs: 5, ...touch },
      { say: String(says[1]), chunk: 5 },
    ],
    { name: 'full' },
  );
  await client.until(() => (transcriptOf(client, agent).live[0]?.length ?? 0) > 50);

  limitFiles(stage.gateway.pid, 0);
  const seen = client.facts.length;
  // The CLI goes on and asks; nobody may learn of it before it is journaled.
  await until(() => stage.model.said('full')[0] === says[0]);
  await until(async () => (await fetch(`${stage.gateway.url}/readyz`)).status === 503);
  await expect(client.call('task.start', { prompt: 'Hello', cwd: stage.gateway.work })).rejects.toMatchObject(
    {
      code: 'unavailable',
      data: { retryable: true },
    },
  );
  await expect(client.call('task.cancel', { agent })).rejects.toMatchObject({ code: 'unavailable' });
  expect(client.facts).toHaveLength(seen);
  expect((await client.call('tree.get', { tree: agent })).permissions).toEqual([]);

  limitFiles(stage.gateway.pid, 'unlimited');
  const { permission } = (await client.fact('permission.requested')).data;
  expect((await fetch(`${stage.gateway.url}/readyz`)).status).toBe(200);
  await client.call('permission.answer', { permission, behavior: 'allow' });
  await client.state(agent, 'completed');
  expect(transcriptOf(client, agent)).toEqual({ live: says, complete: says });
  expect(stage.model.stepsAsked('full')).toEqual([0, 1]);

  const late = await stage.connect();
  await late.call('tree.subscribe', { tree: agent, after: 'start' });
  await late.state(agent, 'completed');
  expect(late.facts.slice(-client.facts.length)).toEqual(client.facts);
  const others = (await late.call('tree.get', { tree: '*' })).agents.filter(({ id }) => id !== agent);
  expect(others).toEqual([]);
  expect(stage.gateway.running).toBe(true);
});

test('an answer whose line cannot be written is written as soon as it can', async () => {
  await using stage = await Stage.open();
  const touch = { tool: 'Bash', input: { command: 'touch made', description: 'A file' } };
  const { client, agent } = await stage.start([touch, { say: 'End.' }], { name: 'input' });
  const { permission } = (await client.fact('permission.requested')).data;
  const input = join(stage.spool(agent, 1), 'in.ndjson');
  renameSync(input, `${input}.away`);
  expect(await client.call('permission.answer', { permission, behavior: 'allow' })).toEqual({
    outcome: 'allowed',
  });
  await until(() => stage.gateway.log.includes('input could not be written yet'));
  expect(stage.model.stepsAsked('input')).toEqual([0]);
  renameSync(`${input}.away`, input);
  await client.state(agent, 'completed');
  expect(stage.model.stepsAsked('input')).toEqual([0, 1]);
});

test('a second gateway on the same data directory is refused in one clear line', async () => {
  await using stage = await Stage.open();
  const { dataDir } = stage.gateway;
  const flags = ['serve', '--port', '0', '--data', dataDir, '--root', stage.gateway.work];
  const main = new URL('../../src/main.ts', import.meta.url).pathname;
  const env = { PATH: process.env.PATH ?? '', HOME: stage.home };
  const second = fork(main, flags, { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  const [words, [code]] = await Promise.all([second.stderr?.toArray(), once(second, 'exit')]);
  expect(code).toBe(1);
  expect(Buffer.concat(words ?? []).toString()).toBe(
    `The data directory ${dataDir} is in use by another gateway. Stop that one, or choose another with --data.\n`,
  );
  expect((await fetch(`${stage.gateway.url}/readyz`)).status).toBe(200);
});
