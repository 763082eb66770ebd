import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { spawnArguments } from '../../src/claude/command.ts';
import { PipedRun } from '../../src/claude/piped-run.ts';
import { isAlive, parsePidFile } from '../../src/claude/processes.ts';
import type { PlacedBytes } from '../../src/claude/run.ts';
import { initializeLine, userLine } from '../../src/claude/stdin.ts';
import { claudeCommands, makeClaudeEnv } from '../support/claude-home.ts';
import { startModelApi } from '../support/model-api.ts';
import { script } from '../support/model-script.ts';
import { until as look } from '../support/stage.ts';
import { RunFolder, until } from './run-folder.ts';

/** Says what it hears, on both streams, until it hears `end N`. */
const parrot =
  'while read -r word status; do echo "$word"; echo "heard $word" >&2; [ "$word" = end ] && exit $status; done; exit 9';

/** A run in a folder of its own; the CLI's working directory tells its processes from others. */
class Stand extends RunFolder {
  run = this.rebuilt();
  #written = 0;

  /** As an agent does after a failed step. */
  rebuilt(): PipedRun {
    return new PipedRun(this.file('run'), this.marker);
  }

  start(command: string[], env: Record<string, string> = {}): void {
    const all = { PATH: process.env.PATH ?? '', ...env, SPAWNGATE_RUN: this.marker };
    this.run.start({ command, cwd: this.path, env: all });
  }

  write(text: string | Uint8Array): void {
    const bytes = Buffer.from(text);
    const line: PlacedBytes = { from: this.#written, to: this.#written + bytes.length, bytes };
    this.#written = line.to;
    this.run.write([line]);
  }

  ended(): Promise<unknown> {
    return until(() => this.run.status().is === 'ended').then(() => this.run.status());
  }
}

test('the CLI hears what was written before its start and after it; all of it is in the files', async () => {
  using stand = new Stand();
  expect(stand.run.status()).toEqual({ is: 'unclaimed' });
  stand.write('one\n');
  stand.start(['/bin/sh', '-c', parrot]);
  expect(stand.run.status()).toEqual({ is: 'alive' });
  await until(() => stand.read('run/out.ndjson') === 'one\n');
  const [gateway, cli] = parsePidFile(stand.read('run/pid'));
  expect([gateway?.pid, cli && isAlive(cli)]).toEqual([process.pid, true]);

  stand.run = stand.rebuilt();
  expect(stand.run.status()).toEqual({ is: 'alive' });
  stand.start(['/bin/sh', '-c', 'echo twice']);
  stand.write('two\n');
  stand.write('end 3\n');
  expect(await stand.ended()).toEqual({ is: 'ended', end: { code: 3 } });
  expect(stand.read('run/in.ndjson')).toBe('one\ntwo\nend 3\n');
  expect(stand.run.written()).toBe(14);
  expect(stand.read('run/out.ndjson')).toBe('one\ntwo\nend\n');
  expect(stand.run.stderrTail()).toEqual(['heard one', 'heard two', 'heard end']);
  const lines = stand.run.read(4).next();
  expect(lines?.map(({ text }) => text)).toEqual(['two', 'end']);
  stand.run.remove();
  expect(stand.inhabitants()).toEqual([]);
});

test('a line that was torn by a crash is piped whole and once', async () => {
  using stand = new Stand();
  writeFileSync(stand.file('run/in.ndjson'), 'on');
  stand.write('one\n');
  stand.start(['/bin/sh', '-c', parrot]);
  stand.run.write([{ from: 0, to: 4, bytes: Buffer.from('one\n') }]);
  await until(() => stand.read('run/out.ndjson') === 'one\n');
  stand.write('end 0\n');
  await stand.ended();
  expect(stand.read('run/out.ndjson')).toBe('one\nend\n');
});

test('delivers 3 MB', async () => {
  using stand = new Stand();
  const much = Buffer.alloc(3 << 20, '0123456789abcdef\n');
  stand.start(['/bin/sh', '-c', `head -c ${much.length} >copy`]);
  stand.write(much);
  expect(await stand.ended()).toEqual({ is: 'ended', end: { code: 0 } });
  expect(stand.read('copy')).toBe(much.toString());
});

test('the CLI may exit while much is being written to it', async () => {
  using stand = new Stand();
  stand.start(['/bin/sh', '-c', 'echo too much >&2; exit 5']);
  stand.write(Buffer.alloc(4 << 20, 'x'));
  expect(await stand.ended()).toEqual({ is: 'ended', end: { code: 5 } });
  stand.write('and more');
  expect(stand.run.stderrTail()).toEqual(['too much']);
});

test('tells the ends apart: a signal, no such program, none that may be run, no such directory', async () => {
  const ends = [
    [['/bin/sh', '-c', 'kill -KILL $$'], { code: 137 }, ''],
    [['/nowhere/claude', '--print'], { code: 127 }, 'spawngate: spawn /nowhere/claude ENOENT'],
    [['/etc/passwd'], { code: 126 }, 'spawngate: spawn /etc/passwd EACCES'],
  ] as const;
  for (const [command, end, words] of ends) {
    using stand = new Stand();
    stand.start([...command]);
    expect(await stand.ended()).toEqual({ is: 'ended', end });
    expect(stand.run.stderrTail().join()).toBe(words);
  }
  using stand = new Stand();
  stand.run.start({ command: ['true'], cwd: stand.file('nowhere'), env: {} });
  expect(stand.run.status()).toEqual({ is: 'ended', end: { problem: 'cwd_missing' } });
});

test('ending it ends a CLI that is deaf to SIGTERM, and all that it started', async () => {
  using stand = new Stand();
  const deaf = `trap '' TERM; setsid tail -f /dev/null & (sh -c "trap '' TERM; tail -f /dev/null; :" &) ; tail -f /dev/null; :`;
  stand.start(['/bin/sh', '-c', deaf]);
  await until(() => stand.names() === 'sh sh tail tail tail');
  await stand.run.end(100);
  expect(stand.inhabitants()).toEqual([]);
  expect(stand.run.status()).toEqual({ is: 'ended', end: { code: 137 } });
});

test('a run that was ended before its start does not start', async () => {
  using stand = new Stand();
  await stand.run.end(100);
  stand.start(['touch', 'started']);
  expect(stand.run.status()).toEqual({ is: 'ended', end: {} });
  expect(stand.inhabitants()).toEqual([]);
});

test('it ends with its gateway, and the next one finds it ended', async () => {
  using stand = new Stand();
  const launch = { command: ['/bin/sh', '-c', parrot], cwd: stand.path, env: { PATH: process.env.PATH } };
  const gateway: ChildProcess = spawn(process.execPath, [
    '--input-type=module',
    '-e',
    `import { PipedRun } from ${JSON.stringify(new URL('../../src/claude/piped-run.ts', import.meta.url).href)};
     new PipedRun(${JSON.stringify(stand.file('run'))}, 'none').start(${JSON.stringify(launch)});
     setInterval(() => {}, 1000);`,
  ]);
  const cli = await until(() => parsePidFile(stand.read('run/pid'))[1]);
  const died = once(gateway, 'exit');
  gateway.kill('SIGKILL');
  await died;
  await until(() => cli && !isAlive(cli));
  expect(stand.run.status()).toEqual({ is: 'ended', end: {} });
  await stand.run.end(100);
});

test('the real CLI works a whole turn over it', async () => {
  using stand = new Stand();
  await using model = await startModelApi();
  await using home = await makeClaudeEnv({ modelUrl: model.url });
  const session = crypto.randomUUID();
  stand.write(initializeLine('initialize-1'));
  stand.write(userLine(crypto.randomUUID(), script([{ say: 'Over a pipe.' }], { name: 'pipe' })));
  stand.run.start({
    command: [...claudeCommands['2.1.332'], ...spawnArguments({ session })],
    cwd: realpathSync(stand.path),
    env: { ...home.env, SPAWNGATE_RUN: stand.marker },
  });
  await look(() => stand.read('run/out.ndjson').includes('"type":"result"'));
  expect(stand.read('run/out.ndjson')).toContain('Over a pipe.');
  expect(model.stepsAsked('pipe')).toEqual([0]);
  await stand.run.end(2_000);
  expect(stand.run.status().is).toBe('ended');
  expect(stand.inhabitants()).toEqual([]);
});
