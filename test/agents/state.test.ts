import { describe, expect, test } from 'vitest';
import { isEnded, isOver, next, openTurn, type State, type StateInput } from '../../src/agents/state.ts';
import { terminalStates } from '../../src/protocol/agent.ts';

const turn = { number: 1, message: 'm1' };
const other = { number: 2 };
const at = 7;

const living = {
  queued: { is: 'queued' },
  'starting without a turn': { is: 'starting' },
  'starting with a turn': { is: 'starting', turn },
  running: { is: 'running', turn },
  idle: { is: 'idle', since: 1 },
} as const satisfies Record<string, State>;

const ended: Record<string, State> = {
  completed: { is: 'completed' },
  failed: { is: 'failed', reason: 'exited', detail: 'why' },
  cancelled: { is: 'cancelled' },
  timed_out: { is: 'timed_out' },
  over_budget: { is: 'over_budget' },
  interrupted: { is: 'interrupted', reason: 'crashed', resuming: false },
  'interrupted and resuming': { is: 'interrupted', reason: 'crashed', resuming: true, cut: turn },
};

const states: Record<string, State> = { ...living, ...ended };

const inputs = {
  'a run': { type: 'run' },
  'a run with a turn': { type: 'run', turn: other },
  readiness: { type: 'ready', at },
  'a turn': { type: 'turn', turn: other },
  'a result': { type: 'result', at },
  stirring: { type: 'stirred', at },
  'an end': { type: 'end', as: { is: 'cancelled', detail: 'enough' } },
} as const satisfies Record<string, StateInput>;

const idle: State = { is: 'idle', since: at };
const end: State = { is: 'cancelled', detail: 'enough' };
const reopened = {
  'a run': { is: 'starting' },
  'a run with a turn': { is: 'starting', turn: other },
} as const;

/** What follows; every pair that doesn't stand here changes nothing. */
const follows: Record<string, Partial<Record<keyof typeof inputs, State>>> = {
  queued: { ...reopened, 'an end': end },
  'starting without a turn': {
    readiness: idle,
    'a turn': { is: 'starting', turn: other },
    'an end': end,
  },
  'starting with a turn': { readiness: { is: 'running', turn }, 'a result': idle, 'an end': end },
  running: { 'a result': idle, 'an end': end },
  idle: { 'a turn': { is: 'running', turn: other }, stirring: idle, 'an end': end },
  ...Object.fromEntries(Object.keys(ended).map((name) => [name, reopened])),
};

describe.each(Object.entries(states))('%s', (name, state) => {
  test.each(Object.entries(inputs))('after %s', (input, given) => {
    const before = structuredClone(state);
    expect(next(state, given)).toEqual(follows[name]?.[input as keyof typeof inputs]);
    expect(state).toEqual(before);
  });
});

test('an agent has ended, and is over, in the terminal states alone; one that resumes is not over', () => {
  const names = Object.entries(states);
  expect(names.filter(([, state]) => isEnded(state)).map(([name]) => name)).toEqual(Object.keys(ended));
  expect(new Set(Object.values(ended).map(({ is }) => is))).toEqual(new Set(terminalStates));
  const over = names.filter(([, state]) => isOver(state)).map(([name]) => name);
  expect(over).toEqual(Object.keys(ended).filter((name) => name !== 'interrupted and resuming'));
});

test('a turn is open while the agent starts with it or runs', () => {
  const open = Object.entries(states).filter(([, state]) => openTurn(state) !== undefined);
  expect(open.map(([name]) => name)).toEqual(['starting with a turn', 'running']);
});
