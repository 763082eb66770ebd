import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { asks, play, result, says, streams } from '../support/fake-acts.ts';
import { fakeClaude } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';

/** A Python that has the library: Debian's has it from its package, which another one first on the PATH doesn't see. */
const python = ['python3', '/usr/bin/python3'].find((command) => {
  try {
    execFileSync(command, ['-c', 'import websockets'], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // Not there, or without it.
  }
});
if (!python) console.warn('Skipped: no Python with websockets here; apt-get install python3-websockets.');

test.skipIf(!python)('a program in Python drives a task with plain JSON', async () => {
  await using stage = await Stage.open({ claude: fakeClaude });
  const { url, token, work } = stage.gateway;
  const acts = [
    { lines: [...streams('m', 'D', 'one 🙂.'), asks('ask', 'Bash', { command: 'ls' })] },
    { until: { answerTo: 'ask' } },
    { lines: [says('Done 🙂.'), result({ result: 'Done 🙂.' })] },
  ];
  const script = fileURLToPath(new URL('drive.py', import.meta.url));
  const argv = [script, `${url.replace('http', 'ws')}/v1/ws`, work, play(acts)];
  const env = { ...process.env, TOKEN: token };
  const { stdout } = await promisify(execFile)(String(python), argv, { env });
  const seen = JSON.parse(stdout);
  expect(seen).toMatchObject({
    protocol: 'spawngate.v1.json',
    first: 'welcome',
    answers: {
      1: { state: 'starting' },
      2: { outcome: 'allowed' },
      3: { state: 'completed', text: 'Done 🙂.' },
    },
  });
  expect(seen.types).toEqual(expect.arrayContaining(['delta', 'message', 'permission.requested']));
  expect(seen.seqs).toEqual([...new Set<number>(seen.seqs)].sort((a, b) => a - b));
});
