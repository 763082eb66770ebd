import { describe, expect, test } from 'vitest';
import { Draft, type Identity } from '../../src/agents/draft.ts';
import { lowDiskBytes, stalledMs, warn } from '../../src/agents/due.ts';
import { type AgentRecord, freshRecord } from '../../src/agents/record.ts';
import type { State } from '../../src/agents/state.ts';

const task = { cwd: '/' } as Identity['task'];
const agent: Identity = { id: 'a', tree: 'a', owner: 'o', path: ['a'], task };
const running: State = { is: 'running', turn: { number: 1 } };
const plenty = lowDiskBytes;

/** A run whose output has stayed away for so long. */
function silentFor(ms: number) {
  return { heardAt: performance.now() - ms, warned: new Set<'output_stalled' | 'disk_low'>() };
}

/** What one look tells. */
function look(open: ReturnType<typeof silentFor>, record: Partial<AgentRecord>, freeBytes = plenty) {
  const draft = new Draft({ agent, record: { ...freshRecord('s'), ...record }, text: '', at: 1 });
  warn(draft, open, freeBytes);
  return draft.facts.map(({ type, data }) => ({ type, ...JSON.parse(data) }));
}

describe('output that stays away', () => {
  test('in a turn is told of after five minutes, once', () => {
    expect(look(silentFor(stalledMs - 1_000), { state: running })).toEqual([]);
    const open = silentFor(stalledMs + 1);
    expect(look(open, { state: running })).toEqual([
      {
        type: 'agent.notice',
        code: 'output_stalled',
        message: 'Claude Code has written nothing for 5 minutes.',
        silentMs: expect.any(Number),
      },
    ]);
    expect(look(open, { state: running })).toEqual([]);
  });

  test('is told of again when it came back in between', () => {
    const open = silentFor(stalledMs + 1);
    expect(look(open, { state: running })).toHaveLength(1);
    open.heardAt = performance.now();
    expect(look(open, { state: running })).toEqual([]);
    open.heardAt -= stalledMs + 1;
    expect(look(open, { state: running })).toHaveLength(1);
  });

  test('is told of while the process starts, too', () => {
    expect(look(silentFor(stalledMs + 1), { state: { is: 'starting' } })).toHaveLength(1);
  });

  test('is not counted while a human is awaited, nor while nothing is to be done', () => {
    const open = silentFor(stalledMs * 10);
    expect(look(open, { state: running, asks: { r: { permission: 'p' } } })).toEqual([]);
    // The answer came: time counts from there.
    expect(look(open, { state: running })).toEqual([]);
    expect(look(silentFor(stalledMs * 10), { state: { is: 'idle', since: 1 } })).toEqual([]);
  });
});

test('a disk that is nearly full is told of once, and again when it fills up anew', () => {
  const open = silentFor(0);
  const low = () => look(open, { state: running }, lowDiskBytes - 1);
  expect(low()).toMatchObject([{ code: 'disk_low', freeBytes: lowDiskBytes - 1 }]);
  expect(low()).toEqual([]);
  expect(look(open, { state: running })).toEqual([]);
  expect(low()).toHaveLength(1);
});
