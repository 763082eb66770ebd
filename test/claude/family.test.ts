import { expect, test } from 'vitest';
import { findFamily, signalGroup, sweep } from '../../src/claude/family.ts';
import {
  findProcess,
  type Identity,
  isAlive,
  listProcesses,
  parsePidFile,
} from '../../src/claude/processes.ts';
import { wrapperArgv } from '../../src/claude/wrapper.ts';
import { end, exitOf, nameOf, RunFolder, until } from './run-folder.ts';

const everyKind = `
setsid nohup sleep 300 >/dev/null 2>&1 &
(sleep 300 &)
sh -c 'trap "" TERM; sleep 300; :' &
env -i sleep 300 &
setsid sh -c 'env -i sleep 300 & wait' &
wait`;

test('a family seen before its head was killed is swept to the last', async () => {
  using folder = new RunFolder();
  const head = folder.spawn(['sh', '-c', everyKind]);
  await until(() => folder.names() === 'sh sh sh sleep sleep sleep sleep sleep');
  const known = findFamily(folder.marker);
  expect(pidsOf(known)).toEqual(folder.inhabitants().sort());
  end(Number(head.pid));
  await exitOf(head);
  expect(pidsOf(findFamily(folder.marker, known))).toEqual(folder.inhabitants().sort());
  expect(await sweep({ marker: folder.marker, known })).toEqual({ ended: 7, left: [] });
  expect(folder.inhabitants()).toEqual([]);
});

// Four times, as without the freezing about every second one passes.
test.each([1, 2, 3, 4])('nobody is born between the look and the kill (%i)', async () => {
  using folder = new RunFolder();
  const births = 'while [ $((i += 1)) -lt 1000 ]; do env -i setsid sleep 300 & done; wait';
  folder.spawn(['sh', '-c', `for _ in $(seq 40); do sleep 300 & done; ${births}`]);
  await until(() => folder.inhabitants().length > 50);
  const { ended, left } = await sweep({ marker: folder.marker });
  expect(ended).toBeGreaterThan(50);
  expect(left).toEqual([]);
  expect(folder.inhabitants()).toEqual([]);
});

test('who is born after the look is known by a session whose head and another member were', async () => {
  using folder = new RunFolder();
  const later = 'until [ -e go ]; do sleep 0.01; done; (sleep 300 &); exec sleep 300';
  const head = folder.spawn(['sh', '-c', `env -i PATH="$PATH" sh -c '${later}' & wait`]);
  await until(() => folder.names() === 'sh sh sleep');
  const known = findFamily(folder.marker);
  end(Number(head.pid));
  await exitOf(head);
  folder.append('go', '');
  await until(() => folder.names() === 'sleep sleep');
  expect(findFamily(folder.marker)).toEqual([]);
  expect(pidsOf(findFamily(folder.marker, known))).toEqual(folder.inhabitants().sort());
});

test('a stranger is not touched: another marker, none, or one that only looks alike', async () => {
  using folder = new RunFolder();
  const markers = [`${folder.marker}2`, `x${folder.marker}`, `${folder.marker} `, `x,${folder.marker}2`];
  for (const SPAWNGATE_RUN of markers) folder.spawn(['sleep', '300'], { env: { SPAWNGATE_RUN } });
  folder.spawn(['sleep', '300'], { env: {} });
  folder.spawn(['sleep', '300'], { env: { OTHER: `SPAWNGATE_RUN=${folder.marker}` } });
  const ours = folder.spawn(['sleep', '300']);
  await until(() => folder.names() === Array(7).fill('sleep').join(' '));
  expect(pidsOf(findFamily(folder.marker))).toEqual([ours.pid]);
  expect(await sweep({ marker: folder.marker })).toEqual({ ended: 1, left: [] });
  await exitOf(ours);
  expect(folder.inhabitants()).toHaveLength(6);
});

test.each([
  ['leads', 'exec sh -c "SPAWNGATE_RUN=$M sleep 300 & exec tail -f /dev/null"'],
  ['has left without its leader', '(SPAWNGATE_RUN=$M sleep 300 & exec tail -f /dev/null) &'],
])('a job of ours in a session that a stranger %s ends alone', async (_how, script) => {
  using folder = new RunFolder();
  const leader = folder.spawn(['sh', '-c', script], { env: { M: folder.marker } });
  await until(() => folder.names() === 'sleep tail');
  const recycled = {
    pid: Number(leader.pid),
    start: '1',
    boot: findProcess(process.pid)?.identity.boot ?? '',
  };
  expect(findFamily(folder.marker, [recycled])).toHaveLength(1);
  expect(await sweep({ marker: folder.marker, known: [recycled] })).toEqual({ ended: 1, left: [] });
  expect(folder.names()).toBe('tail');
});

test('a session is a stranger’s if its leader only bears the number of one that we knew', async () => {
  using folder = new RunFolder();
  const leader = folder.spawn(['sh', '-c', 'SPAWNGATE_RUN=$M sleep 300 & exec tail -f /dev/null'], {
    env: { M: folder.marker },
  });
  await until(() => folder.names() === 'sleep tail');
  const job = findFamily(folder.marker);
  const known = [...job, ...job.map((id) => ({ ...id, pid: Number(leader.pid), start: '1' }))];
  expect(findFamily(folder.marker, known)).toEqual(job);
});

test('a number that was given to another process is never signalled', async () => {
  using folder = new RunFolder();
  const stranger = folder.spawn(wrapperOf(folder), { env: {} });
  const [wrapper, command] = (await until(() => wholePid(folder))) as [Identity, Identity];
  const recycled = [
    { ...wrapper, start: '1' },
    { ...command, boot: 'another' },
  ] as [Identity, Identity];
  expect(recycled.map(isAlive)).toEqual([false, false]);
  expect(findFamily(folder.marker, recycled)).toEqual([]);
  expect(await sweep({ marker: folder.marker, known: recycled })).toEqual({ ended: 0, left: [] });
  expect(signalGroup(recycled[0], 'SIGKILL', recycled)).toBe(false);
  expect([wrapper, command].map(isAlive)).toEqual([true, true]);
  expect(stranger.exitCode).toBe(null);
});

test('of nested gateways the inner run ends alone, the outer one with all in it', async () => {
  using folder = new RunFolder();
  const inner = `${folder.marker}-inner`;
  const outer = folder.spawn([
    'sh',
    '-c',
    `SPAWNGATE_RUN=$SPAWNGATE_RUN,${inner} sleep 300 & wait; exec tail -f /dev/null`,
  ]);
  await until(() => folder.names() === 'sh sleep');
  expect(findFamily(folder.marker)).toHaveLength(2);
  expect(findFamily(`${folder.marker},${inner}`)).toEqual([]);
  expect(await sweep({ marker: inner })).toEqual({ ended: 1, left: [] });
  await until(() => folder.names() === 'tail');
  expect(pidsOf(findFamily(folder.marker))).toEqual([outer.pid]);
  await sweep({ marker: folder.marker });
  expect(folder.inhabitants()).toEqual([]);
});

test('neither we, nor our ancestors, nor our session are family, whatever is known or marked', async () => {
  using folder = new RunFolder();
  const ours = folder.spawn(['sleep', '300'], { detached: false });
  const neighbour = folder.spawn(['tail', '-f', '/dev/null'], { detached: false, env: {} });
  await until(() => folder.names() === 'sleep tail');
  const known = [process.pid, process.ppid, 1].map((pid) => findProcess(pid)?.identity as Identity);
  expect(known.map(isAlive)).toEqual([true, true, true]);
  expect(pidsOf(findFamily(folder.marker, known))).toEqual([ours.pid]);
  expect((await sweep({ marker: folder.marker })).ended).toBe(1);
  expect(folder.inhabitants()).toEqual([neighbour.pid]);
});

test('a session that we belong to is not family, not even if its leader was', async () => {
  using folder = new RunFolder();
  const probe = `
    import { findFamily } from '${new URL('../../src/claude/family.ts', import.meta.url)}';
    import { findProcess, listProcesses } from '${new URL('../../src/claude/processes.ts', import.meta.url)}';
    import { writeFileSync } from 'node:fs';
    const { session, identity } = findProcess(process.pid);
    while (findProcess(session)) await new Promise((resolve) => setTimeout(resolve, 5));
    const [neighbour] = listProcesses().filter((one) => one.session === session && one.identity.pid !== process.pid);
    const leader = { ...identity, pid: session };
    writeFileSync('found', JSON.stringify([neighbour.identity.pid, findFamily('none', [leader, neighbour.identity])]));`;
  const script = 'sleep 300 & sleep 300 & "$@" &';
  folder.spawn(['sh', '-c', script, 'sh', process.execPath, '--input-type=module', '-e', probe], { env: {} });
  const [neighbour, found] = await until(() => folder.read('found') && JSON.parse(folder.read('found')));
  expect(pidsOf(found)).toEqual([neighbour]);
});

test('a zombie is not alive, and a sweep does not wait for it', async () => {
  using folder = new RunFolder();
  const parent = folder.spawn(['sh', '-c', 'sleep 0 & exec tail -f /dev/null'], { env: {} });
  const zombie = await until(() =>
    listProcesses().find((one) => one.ppid === parent.pid && one.state === 'Z'),
  );
  const known = [zombie?.identity as Identity];
  expect(isAlive(known[0] as Identity)).toBe(false);
  expect(await sweep({ marker: folder.marker, known })).toEqual({ ended: 0, left: [] });
});

test('an aborted sweep has killed and leaves nobody frozen', async () => {
  using folder = new RunFolder();
  folder.spawn(['sh', '-c', everyKind]);
  await until(() => folder.names() === 'sh sh sh sleep sleep sleep sleep sleep');
  await sweep({ marker: folder.marker, signal: AbortSignal.abort() });
  await until(() => folder.inhabitants().length === 0);
});

test('a group is signalled while its wrapper lives, or somebody in it who is known', async () => {
  using folder = new RunFolder();
  const wrapper = folder.spawn(wrapperOf(folder));
  const ids = (await until(() => wholePid(folder))) as [Identity, Identity];
  expect(signalGroup(ids[0], 'SIGCONT')).toBe(true);
  end(Number(wrapper.pid));
  await exitOf(wrapper);
  expect(signalGroup(ids[0], 'SIGTERM')).toBe(false);
  expect(signalGroup(ids[0], 'SIGTERM', ids)).toBe(true);
  expect(await until(() => folder.read('exit'))).toBe('143\n');
  await until(() => folder.inhabitants().length === 0);
  expect(signalGroup(ids[0], 'SIGTERM', ids)).toBe(false);
});

test('a group that the wrapper does not lead is not signalled', async () => {
  using folder = new RunFolder();
  const child = folder.spawn(['sleep', '300'], { detached: false });
  await until(() => folder.names() === 'sleep');
  const id = findProcess(Number(child.pid))?.identity as Identity;
  expect(signalGroup(id, 'SIGKILL', [id])).toBe(false);
  const own = findProcess(process.pid);
  expect(signalGroup({ ...id, pid: Number(own?.pgid) }, 'SIGCONT', [own?.identity as Identity])).toBe(false);
  const stranger = folder.spawn(['tail', '-f', '/dev/null']);
  await until(() => folder.names() === 'sleep tail');
  expect(signalGroup({ ...id, pid: Number(stranger.pid), start: '1' }, 'SIGKILL', [id])).toBe(false);
});

function wrapperOf(folder: RunFolder): [string, ...string[]] {
  folder.append('in.ndjson', '');
  return wrapperArgv(folder.path, ['sleep', '300']);
}

/** The run's two processes, once the second has become the command. */
function wholePid(folder: RunFolder): Identity[] | false {
  const ids = parsePidFile(folder.read('pid'));
  return nameOf(ids[1]?.pid ?? 0) === 'sleep' && ids;
}

function pidsOf(ids: Identity[]): number[] {
  return ids.map((id) => id.pid).sort();
}
