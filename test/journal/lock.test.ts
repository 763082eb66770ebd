import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DataDirectoryInUse, lockDataDirectory } from '../../src/journal/lock.ts';

let data: string;
beforeEach(() => {
  data = join(mkdtempSync(join(tmpdir(), 'spawngate-lock-')), 'deep', 'data');
});
afterEach(() => rmSync(join(data, '../..'), { recursive: true, force: true }));

const lockModule = new URL('../../src/journal/lock.ts', import.meta.url).href;

/** Takes the lock, throws the handle away, says how that went, and lives until stdin ends. */
const holder = `
  import { spawn } from 'node:child_process';
  import { lockDataDirectory } from ${JSON.stringify(lockModule)};
  try {
    lockDataDirectory(process.argv[1]);
    gc();
    // The collector's clean-up of a lost database would have run before this.
    setImmediate(() => {
      const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
      child.once('spawn', () => console.log('locked ' + child.pid));
    });
  } catch (error) {
    console.log(error.name);
  }
  process.stdin.resume().on('end', () => process.exit());
`;

/** Another gateway; disposing kills it like `kill -9`. */
class Gateway {
  readonly process: ChildProcess;
  readonly #words: AsyncIterator<string>;

  constructor(directory: string) {
    const argv = ['--expose-gc', '--input-type=module', '-e', holder, directory];
    const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.process = child;
    this.#words = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  async says(): Promise<string> {
    return (await this.#words.next()).value;
  }

  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

test('makes the folder, for its owner only', () => {
  using lock = lockDataDirectory(data);
  expect(lock.directory).toBe(data);
  expect(statSync(data).mode & 0o777).toBe(0o700);
});

describe('a second gateway', () => {
  test('is refused, told which folder, and let in once the first has let go', async () => {
    {
      await using first = new Gateway(data);
      expect(await first.says()).toMatch(/^locked/);
      expect(() => lockDataDirectory(data)).toThrow(DataDirectoryInUse);
      expect(() => lockDataDirectory(data)).toThrow(`${data} is in use by another gateway`);
      first.process.stdin?.end();
      await once(first.process, 'exit');
    }
    using lock = lockDataDirectory(data);
    expect(lock.directory).toBe(data);
  });

  test('is let in at once after kill -9, though a child of the first lives on', async () => {
    await using first = new Gateway(data);
    const child = Number((await first.says()).split(' ')[1]);
    process.kill(child, 'SIGSTOP'); // So that it outlives the end of its stdin.
    try {
      await first.kill();
      using lock = lockDataDirectory(data);
      expect(lock.directory).toBe(data);
      expect(process.kill(child, 0)).toBe(true);
    } finally {
      process.kill(child, 'SIGKILL');
    }
  });

  test('is refused within the same process, too', () => {
    using lock = lockDataDirectory(data);
    expect(() => lockDataDirectory(lock.directory)).toThrow(DataDirectoryInUse);
  });
});

test('letting go twice is letting go once', () => {
  const lock = lockDataDirectory(data);
  lock[Symbol.dispose]();
  lock[Symbol.dispose]();
  using again = lockDataDirectory(data);
  expect(again.directory).toBe(data);
});

test('of several that start at once, exactly one gets it', async () => {
  await using gateways = new AsyncDisposableStack();
  const all = Array.from({ length: 4 }, () => gateways.use(new Gateway(data)));
  const words = await Promise.all(all.map((gateway) => gateway.says()));
  expect(words.filter((word) => word.startsWith('locked'))).toHaveLength(1);
  expect(words.filter((word) => word === 'DataDirectoryInUse')).toHaveLength(3);
});

test('a folder that can’t be used is an error of its own, not a lock', () => {
  const file = join(data, '../../file');
  writeFileSync(file, '');
  expect(() => lockDataDirectory(join(file, 'data'))).toThrow(/ENOTDIR/);
  lockDataDirectory(data)[Symbol.dispose]();
  writeFileSync(join(data, 'lock.db'), 'no database '.repeat(100));
  expect(() => lockDataDirectory(data)).toThrow(/not a database/);
});
