import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Identity, isAlive, parsePidFile } from '../../src/claude/processes.ts';
import { wrapperArgv } from '../../src/claude/wrapper.ts';
import { end, exitOf, RunFolder, until } from './run-folder.ts';

const shells = [['/bin/sh'], ['dash'], ['bash', '--posix'], ['busybox', 'sh']].filter(
  ([file = '']) => spawnSync(file, ['-c', ':']).error === undefined,
);

describe.each(shells.map((shell) => ({ shell, name: shell.join(' ') })))(
  'the wrapper under $name',
  ({ shell }) => {
    test('carries the command’s status into the exit file and leaves no process', async () => {
      const ends = {
        'exit 0': '0\n',
        'exit 7': '7\n',
        'kill -KILL $$': '137\n',
        'kill -TERM $$': '143\n',
        'kill -INT $$': '130\n',
      };
      for (const [script, status] of Object.entries(ends)) {
        using folder = new RunFolder();
        expect(await exitOf(start(folder, ['sh', '-c', script]))).toBe(0);
        expect([script, folder.read('exit')]).toEqual([script, status]);
        expect(folder.inhabitants()).toEqual([]);
        expect(readdirSync(folder.path).sort()).toEqual([
          'err.log',
          'exit',
          'in.ndjson',
          'out.ndjson',
          'pid',
        ]);
      }
    });

    test('records 127 for a missing command and 126 for one that can’t be run, with the reason in err.log', async () => {
      for (const [command, status] of [
        ['no-such-command', '127\n'],
        ['/etc/passwd', '126\n'],
      ] as const) {
        using folder = new RunFolder();
        await exitOf(start(folder, [command]));
        expect(folder.read('exit')).toBe(status);
        expect(folder.read('err.log')).toContain(command);
      }
    });

    test('hands the arguments over as they are, and appends to what the files hold', async () => {
      using folder = new RunFolder();
      folder.append('out.ndjson', 'before ');
      folder.append('err.log', 'before ');
      await exitOf(
        start(folder, ['sh', '-c', 'printf "<%s>" "$@"; echo oops >&2', 'a  b', '', '*', '$HOME\'"\\']),
      );
      expect(folder.read('out.ndjson')).toBe(`before <><*><$HOME'"\\>`);
      expect(folder.read('err.log')).toBe('before oops\n');
    });

    test('of eight that start at once exactly one runs the command, and pid is never seen half written', async () => {
      using folder = new RunFolder();
      const wrappers = Array.from({ length: 8 }, () =>
        start(folder, ['sh', '-c', 'echo "$$"; exec sleep 300']),
      );
      const whole = /^(\d+ \d+ [\w-]+\n){1,2}$/;
      const ids = await until(() => {
        const text = folder.read('pid');
        if (text !== '' || readdirSync(folder.path).includes('pid'))
          expect(folder.read('pid')).toMatch(whole);
        return parsePidFile(text).length === 2 && parsePidFile(text);
      });
      const losers = wrappers.filter((wrapper) => wrapper.pid !== (ids as Identity[])[0]?.pid);
      expect(losers).toHaveLength(7);
      expect(await Promise.all(losers.map(exitOf))).toEqual(losers.map(() => 0));
      expect(await until(() => folder.read('out.ndjson'))).toBe(`${(ids as Identity[])[1]?.pid}\n`);
      expect(readdirSync(folder.path).filter((name) => name.startsWith('pid'))).toEqual(['pid']);
    });

    test('does not write over a claim by way of its second name, left behind by a claimant that was cut short', async () => {
      using folder = new RunFolder();
      const claimed = 'echo "1 1 other" >pid; ln pid "pid.$$"; exec "$@"';
      const argv = under(wrapperArgv(folder.path, ['touch', folder.file('ran')]));
      expect(await exitOf(folder.spawn(['sh', '-c', claimed, 'sh', ...argv]))).toBe(0);
      expect(folder.read('pid')).toBe('1 1 other\n');
      expect(readdirSync(folder.path)).toEqual(['pid']);
    });

    test('says by its own status that it could not claim', async () => {
      using folder = new RunFolder();
      const argv = wrapperArgv(folder.file('nowhere'), ['touch', folder.file('ran')]);
      expect(await exitOf(folder.spawn(under(argv)))).toBe(1);
      expect(readdirSync(folder.path)).toEqual([]);
    });

    test('delivers 3 MB that were there before, and what is appended later', async () => {
      using folder = new RunFolder();
      const first = Buffer.alloc(3 << 20, '0123456789abcdef\n');
      const wrapper = start(folder, ['sh', '-c', `head -c ${first.length + 12} >copy`], first);
      await until(() => folder.read('copy').length > 2 << 20);
      folder.append('in.ndjson', 'and so ');
      folder.append('in.ndjson', 'on.\n\n');
      await exitOf(wrapper);
      expect(readFileSync(folder.file('copy')).equals(readFileSync(folder.file('in.ndjson')))).toBe(true);
    });

    test('delivers half a line, then the rest', async () => {
      using folder = new RunFolder();
      start(folder, ['cat'], '{"a":');
      await until(() => folder.read('out.ndjson') === '{"a":');
      folder.append('in.ndjson', '1}\n');
      await until(() => folder.read('out.ndjson') === '{"a":1}\n');
    });

    test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
      'outlives %s to its group to record the status',
      async (signal) => {
        using folder = new RunFolder();
        const name = signal.slice(3);
        const wrapper = start(folder, ['sh', '-c', `trap 'echo last; exit 9' ${name}; sleep 300`]);
        await until(() => folder.names().includes('sleep'));
        process.kill(-Number(wrapper.pid), signal);
        await exitOf(wrapper);
        expect([folder.read('out.ndjson'), folder.read('exit')]).toEqual(['last\n', '9\n']);
        expect(folder.inhabitants()).toEqual([]);
      },
    );

    test('leaves the command’s signals as they were', async () => {
      using folder = new RunFolder();
      await exitOf(start(folder, ['grep', '-E', 'Sig(Blk|Ign)', '/proc/self/status']));
      expect(folder.read('out.ndjson').replace(/Sig...:\s+/g, '')).toBe(`${'0'.repeat(16)}\n`.repeat(2));
    });

    test('killed alone it leaves the command at work, known by line 2, and the end is still recorded', async () => {
      using folder = new RunFolder();
      const wrapper = start(folder, ['sh', '-c', 'echo "$$"; read -r line; echo "$line"; exit 5']);
      const pid = await until(() => Number(folder.read('out.ndjson')));
      end(Number(wrapper.pid));
      await exitOf(wrapper);
      const [first, second] = parsePidFile(folder.read('pid')) as [Identity, Identity];
      expect([first.pid, isAlive(first)]).toEqual([wrapper.pid, false]);
      expect([second.pid, isAlive(second)]).toEqual([pid, true]);
      folder.append('in.ndjson', 'go on\n');
      await until(() => folder.inhabitants().length === 0);
      expect([folder.read('out.ndjson'), folder.read('exit')]).toEqual([`${pid}\ngo on\n`, '5\n']);
    });

    test('ends the tail even if a child that has left the group still holds the command’s input', async () => {
      using folder = new RunFolder();
      await exitOf(
        start(folder, [
          'sh',
          '-c',
          'exec 3<&0; setsid sleep 300 <&3 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done',
        ]),
      );
      expect(folder.names()).toBe('sleep');
    });

    test('leaves no exit file when its whole group is killed', async () => {
      using folder = new RunFolder();
      const wrapper = start(folder, ['sh', '-c', 'echo ready; sleep 300']);
      await until(() => folder.read('out.ndjson'));
      process.kill(-Number(wrapper.pid), 'SIGKILL');
      await until(() => folder.inhabitants().length === 0);
      expect(readdirSync(folder.path)).not.toContain('exit');
      expect(parsePidFile(folder.read('pid')).map(isAlive)).toEqual([false, false]);
    });

    function start(folder: RunFolder, command: string[], input: string | Uint8Array = '') {
      folder.append('in.ndjson', input);
      return folder.spawn(under(wrapperArgv(folder.path, command)));
    }

    function under([, ...args]: [string, ...string[]]): [string, ...string[]] {
      return [...shell, ...args] as [string, ...string[]];
    }
  },
);

test('a name with spaces and parentheses hides no start time', async () => {
  using folder = new RunFolder();
  symlinkSync('/bin/sh', folder.file('a) R (b'));
  symlinkSync('/bin/sleep', folder.file(') 1 (c) 2'));
  writeFileSync(folder.file('in.ndjson'), '');
  const [, ...args] = wrapperArgv(folder.path, [folder.file(') 1 (c) 2'), '300']);
  folder.spawn([folder.file('a) R (b'), ...args]);
  await until(() => folder.names().includes(') 1 (c) 2'));
  expect(parsePidFile(folder.read('pid')).map(isAlive)).toEqual([true, true]);
});

test('a pid file yields only whole lines that name a process', () => {
  const text = '12 34 boot\n0 1 boot\n-1 1 boot\n1x 1 boot\n\n56 Mon_May__4_2026 -\n78 9 bo';
  expect(parsePidFile(text)).toEqual([
    { pid: 12, start: '34', boot: 'boot' },
    { pid: 56, start: 'Mon_May__4_2026', boot: '-' },
  ]);
});
