import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { isTerminal } from '../../src/agents/state.ts';
import { type FaultPoint, faultPoints } from '../../src/fault.ts';
import type { AgentStateName } from '../../src/protocol/agent.ts';
import { until } from '../support/stage.ts';
import { JournalLook } from './journal-look.ts';
import { Ordeal } from './ordeal.ts';
import { crashTask } from './tasks.ts';
import { problemsAfter, problemsWith, stateOf } from './verdict.ts';

/** What the dead gateway left of its newest agent. */
type Remains = {
  state: AgentStateName;
  open: boolean;
  spool: boolean;
  claimed: boolean;
  /** Bytes of the input, and the lines placed in it. */
  written: number;
  lines: { from: number; to: number }[];
  /** Bytes of the output, and of those the part that is journaled. */
  output: number;
  factsTo: number;
  lastCommit: string[];
  processes: number;
};

/** How the gap between two steps looks. */
const gaps: Record<FaultPoint, (remains: Remains, type?: string) => boolean> = {
  'before-spawn': ({ claimed, written, lines }) => !claimed && written === lines.at(-1)?.to,
  'after-spawn': ({ state }) => state === 'starting',
  'commit-to-input': ({ written, lines }) => lines.some(({ from }) => from === written),
  'half-input': ({ written, lines }) => lines.some(({ from, to }) => from < written && written < to),
  'read-to-commit': ({ output, factsTo }) => output > factsTo,
  'commit-to-flush': ({ lastCommit }, type = '') => lastCommit.includes(type),
  'end-to-process-end': ({ state, open, spool }) => isTerminal(state) && open && spool,
  'process-end-to-close': ({ state, open, spool, processes }) =>
    isTerminal(state) && open && spool && processes === 0,
  'remove-to-close': ({ state, open, spool }) => isTerminal(state) && open && !spool,
};

function remainsAt({ stage }: Ordeal, journal: JournalLook): Remains {
  const agent = journal.agents().at(-1);
  const run = journal.runs(agent?.id).at(-1);
  if (!agent || !run) throw new Error('no agent was started');
  const spool = stage.spool(agent.id, run.run);
  const sizeOf = (name: string) => statSync(join(spool, name), { throwIfNoEntry: false })?.size ?? 0;
  return {
    state: agent.state as AgentStateName,
    open: run.open,
    spool: existsSync(spool),
    claimed: existsSync(join(spool, 'pid')),
    written: sizeOf('in.ndjson'),
    lines: journal.inputs(agent.id),
    output: sizeOf('out.ndjson'),
    factsTo: run.factsTo,
    lastCommit: journal.lastCommit(),
    processes: stage.processes().length,
  };
}

let ordeal: Ordeal;
let cases = 0;
beforeAll(async () => {
  ordeal = await Ordeal.open();
});
// What a failed case left would disturb the next ones.
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  await ordeal[Symbol.asyncDispose]();
  ordeal = await Ordeal.open();
});
afterAll(() => ordeal[Symbol.asyncDispose]());

/** The newest agent's gap once the gateway, and nobody else, has ended itself there. */
async function dieAt(fault: string): Promise<void> {
  await ordeal.died();
  expect(ordeal.stage.gateway.diedBy).toBe('SIGKILL');
  const [, point, , type] = /^([^@:]*)(@([^:]*))?/.exec(fault) ?? [];
  using journal = new JournalLook(ordeal.stage.gateway.dataDir);
  const remains = remainsAt(ordeal, journal);
  expect(gaps[point as FaultPoint](remains, type), JSON.stringify(remains)).toBe(true);
}

async function restart(fault?: string): Promise<void> {
  await ordeal.kill();
  await ordeal.start(fault);
}

// On a busy machine; else two seconds each.
describe('the gateway dies, and the task is done once', { timeout: 200_000 }, () => {
  test.each([
    { fault: 'before-spawn', kind: 'short', gap: 'before the process is started' },
    { fault: 'after-spawn', kind: 'short', gap: 'before the process has claimed its run' },
    { fault: 'commit-to-input:1', kind: 'short', gap: 'before the prompt is written' },
    { fault: 'commit-to-input:2', kind: 'short', gap: 'before an answer is written' },
    { fault: 'commit-to-input:3', kind: 'short', gap: 'before the end is asked for' },
    { fault: 'half-input:1', kind: 'short', gap: 'in the first line' },
    { fault: 'half-input:2', kind: 'reads', gap: 'in a prompt of 3 MB' },
    { fault: 'half-input:3', kind: 'short', gap: 'in an answer that Claude is reading' },
    { fault: 'half-input:4', kind: 'short', gap: 'in the order to end' },
    { fault: 'read-to-commit@agent.state', kind: 'short', gap: 'before it is known to be ready' },
    { fault: 'read-to-commit@message:3', kind: 'short', gap: 'before a message is journaled' },
    { fault: 'read-to-commit@permission.requested', kind: 'short', gap: 'before a question is journaled' },
    { fault: 'read-to-commit@agent.result', kind: 'short', gap: 'before the result is journaled' },
    { fault: 'commit-to-flush@agent.state', kind: 'short', gap: 'before anybody is told that it is ready' },
    { fault: 'commit-to-flush@message:3', kind: 'short', gap: 'before anybody is told of a message' },
    { fault: 'commit-to-flush@permission.requested', kind: 'short', gap: 'before anybody is asked' },
    {
      fault: 'commit-to-flush@permission.resolved',
      kind: 'short',
      gap: 'before anybody is told of the answer',
    },
    { fault: 'commit-to-flush@agent.result', kind: 'short', gap: 'before anybody is told of the result' },
    { fault: 'end-to-process-end', kind: 'short', gap: 'before the process is ended' },
    { fault: 'process-end-to-close', kind: 'short', gap: 'before the spool is deleted' },
    { fault: 'remove-to-close', kind: 'short', gap: 'before the run is closed' },
  ])('$gap ($fault)', async ({ fault, kind }) => {
    await restart(fault);
    const task = crashTask(kind, `fault-${++cases}`, ordeal.stage.gateway.work);
    const starting = ordeal.begin(task);
    await dieAt(fault);
    await ordeal.start();
    const started = await starting;
    await ordeal.ended([started]);
    await ordeal.closed();
    await ordeal.kill();
    expect([...problemsAfter(ordeal, [started]), ...problemsWith(started, ordeal)]).toEqual([]);
  });

  test.each([
    { fault: 'commit-to-flush@agent.result', gap: 'before anybody is told' },
    { fault: 'commit-to-input:2', gap: 'before the process is told' },
    { fault: 'end-to-process-end', gap: 'before the process is ended' },
    { fault: 'process-end-to-close', gap: 'before the spool is deleted' },
    { fault: 'remove-to-close', gap: 'before the run is closed' },
  ])('after a cancel, $gap ($fault)', async ({ fault }) => {
    await restart(fault);
    const started = await ordeal.begin(crashTask('works', `cancel-${++cases}`, ordeal.stage.gateway.work));
    // Its shell is at work.
    await until(() => existsSync(started.effects.file));
    const cancelling = ordeal.cancel(started.agent);
    await dieAt(fault);
    await ordeal.start();
    expect(await cancelling).toEqual([started.agent]);
    await ordeal.ended([started]);
    await ordeal.closed();
    await ordeal.kill();
    expect(problemsAfter(ordeal, [started])).toEqual([]);
    expect(stateOf(ordeal.trees.factsOf(started.agent))).toBe('cancelled');
  });
});

test('every fault point has a gap that is recognised', () => {
  expect(Object.keys(gaps)).toEqual(faultPoints);
});
