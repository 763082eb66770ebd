import { expect, test } from 'vitest';
import { cut, endure, kill } from './chaos.ts';
import { Ordeal } from './ordeal.ts';
import { Random } from './random.ts';
import { crashTask } from './tasks.ts';
import { problemsAfter, problemsWith } from './verdict.ts';

const seed = Number(process.env.SPAWNGATE_CRASH_SEED ?? Date.now() % 1_000_000);

test.each([
  { name: 'kills of the gateway', harm: kill, times: 20 },
  { name: 'cuts of sockets', harm: cut, times: 40 },
])('no task and no observer notices $times $name', { timeout: 400_000 }, async ({ name, harm, times }) => {
  console.log(`seed ${seed}`);
  await using ordeal = await Ordeal.open();
  const counts = await endure(ordeal, new Random(seed), { harm, times, tasks: 5 });
  console.log(name, counts);
  expect(counts.harms).toBeGreaterThanOrEqual(times);
  expect(counts.connections).toBeGreaterThan(ordeal.peers.length);
  expect(counts.pieces).toBeGreaterThan(0);
});

test('a text goes on growing after a kill in the middle of it', { timeout: 200_000 }, async () => {
  await using ordeal = await Ordeal.open();
  const task = await ordeal.begin(crashTask('talks', 'talks', ordeal.stage.gateway.work));
  // The second block of its message, whose first one is journaled.
  const textSoFar = () =>
    ordeal.trees.text.unfinished(task.agent).find((text) => text.startsWith('Na')) ?? '';
  await ordeal.pulse.until(() => textSoFar().length > 200);
  await ordeal.kill();
  const before = textSoFar();
  await ordeal.start();
  await ordeal.pulse.until(() => textSoFar() !== before);
  expect(textSoFar().length).toBeGreaterThan(before.length);
  await ordeal.ended([task]);
  await ordeal.closed();
  await ordeal.kill();
  expect([...problemsAfter(ordeal, [task]), ...problemsWith(task, ordeal)]).toEqual([]);
});
