import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const demo = fileURLToPath(new URL('./support/demo.ts', import.meta.url));

/** The demo, with a folder of its own for all that it makes. */
class Demo implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'spawngate-demo-'));
  readonly #child;
  #said = '';
  #wake = Promise.withResolvers<void>();

  constructor(...flags: string[]) {
    const env = { ...process.env, TMPDIR: this.folder };
    this.#child = spawn(process.execPath, [demo, '--port', '0', ...flags], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.on('data', (data) => {
        this.#said += data;
        this.#wake.resolve();
      });
    }
    this.#child.on('exit', () => this.#wake.resolve());
  }

  async says(words: string): Promise<void> {
    while (!this.#said.includes(words)) {
      if (this.#child.exitCode !== null)
        throw new Error(`it ended with ${this.#child.exitCode}: ${this.#said}`);
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }

  async ended(): Promise<{ code: number | null; said: string }> {
    if (this.#child.exitCode === null) await once(this.#child, 'close');
    return { code: this.#child.exitCode, said: this.#said };
  }

  /** Processes that were started from it: its folder is named in their environment. */
  processes(): string[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.filter((pid) => environmentOf(pid).includes(this.folder));
  }

  [Symbol.dispose](): void {
    for (const pid of this.processes()) process.kill(Number(pid), 'SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return ''; // It has ended.
  }
}

test('with --once it plays a task to its end, and leaves nothing', async () => {
  using demo = new Demo('--once');
  const { code, said } = await demo.ended();
  expect(said).toMatch(
    /claude {3}I will write the note .*\nasks {5}Bash: echo .*\nanswered allow\nclaude {3}Done: /,
  );
  expect(said).toMatch(
    /result {3}Done: the note is in note\.txt.*\ncompleted in [\d.]+ s: 1 turn, \d+ facts, \d+ deltas\./,
  );
  expect(said).not.toContain('\u001b');
  expect(code).toBe(0);
  expect(readdirSync(demo.folder)).toEqual([]);
  expect(demo.processes()).toEqual([]);
});

test.each(['The gateway stays up.', 'claude   I will'])(
  'Ctrl-C after “%s” ends the gateway and its agents',
  async (words) => {
    using demo = new Demo();
    await demo.says(words);
    expect(demo.processes().length).toBeGreaterThan(1);
    demo.interrupt();
    expect((await demo.ended()).code).toBe(0);
    expect(readdirSync(demo.folder)).toEqual([]);
    expect(demo.processes()).toEqual([]);
  },
);
