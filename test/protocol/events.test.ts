import { describe, expect, it } from 'vitest';
import { deltaSchema, eventSchema, factSchema } from '../../src/protocol/events.ts';
import { factTypes } from '../../src/protocol/facts.ts';
import { limits } from '../../src/protocol/limits.ts';
import { notifications } from '../../src/protocol/notifications.ts';
import { snapshotSchema } from '../../src/protocol/subscription.ts';
import { facts } from './samples.ts';

const delta = {
  type: 'delta' as const,
  agent: 'a',
  message: 'm',
  block: 0,
  kind: 'input' as const,
  at: 0,
  text: '{',
  tool: { id: 't', name: 'Bash' },
};

it('has a sample of every type of fact', () => {
  expect(facts.map((fact) => fact.type).sort()).toEqual([...factTypes].sort());
});

describe.each(facts)('a fact $type', (fact) => {
  it('passes unchanged', () => {
    expect(factSchema.parse(fact)).toEqual(fact);
  });

  it('keeps fields that a later version adds', () => {
    const later = { ...fact, extra: 1, data: { ...fact.data, extra: { x: [1] } } };
    expect(eventSchema.parse(later)).toEqual(later);
  });

  it('may come without data, with its size', () => {
    const cut = { ...fact, data: null, size: 300_000 };
    expect(factSchema.parse(cut)).toEqual(cut);
    expect(factSchema.safeParse({ ...fact, data: null }).success).toBe(false);
  });
});

it('lets an unknown type of fact pass', () => {
  const unknown = { seq: 1, at: 1, agent: 'a', type: 'agent.dreamt', data: ['sheep'] };
  expect(eventSchema.parse(unknown)).toEqual(unknown);
});

it('does not take bad data of a known type for an unknown type', () => {
  expect(eventSchema.safeParse({ seq: 1, at: 1, agent: 'a', type: 'agent.state', data: {} }).success).toBe(
    false,
  );
  expect(eventSchema.safeParse({ ...delta, at: -1, seq: 1, data: {} }).success).toBe(false);
});

it('takes a reason that a later version adds', () => {
  const fact = { seq: 1, at: 1, agent: 'a', type: 'agent.state', data: { state: 'failed', reason: 'bored' } };
  expect(eventSchema.parse(fact)).toEqual(fact);
});

it('takes a delta, with fields that a later version adds', () => {
  expect(eventSchema.parse({ ...delta, extra: 1 })).toEqual({ ...delta, extra: 1 });
  expect(deltaSchema.safeParse({ ...delta, kind: 'smell' }).success).toBe(false);
});

it('takes every notification, with fields that a later version adds', () => {
  const samples = {
    welcome: {
      server: 'spawngate',
      version: '0.1.0',
      epoch: 'e',
      head: 0,
      principal: 'me',
      scopes: ['read' as const],
      heartbeatMs: 25_000,
      claude: { version: null },
      limits: { ...limits, maxTrees: 5 },
    },
    events: { tree: 'a', events: [...facts, delta] },
    heartbeat: { through: 3 },
    goodbye: { reason: 'restart', reconnect: true },
  };
  for (const [name, schema] of Object.entries(notifications)) {
    const sample = { ...samples[name as keyof typeof samples], extra: 1 };
    expect(schema.parse(sample)).toEqual(sample);
  }
});

it('takes a snapshot whose large values are left out', () => {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 };
  const snapshot = {
    seq: 9,
    agents: [
      {
        id: 'a',
        tree: 'a',
        children: [],
        path: ['a'],
        task: { prompt: null, promptSize: 20_000, seq: 1, limits: { timeoutMinutes: 30, later: 1 } },
        state: 'running',
        run: 1,
        waiting: { for: 'human', ids: ['p'], since: 5 },
        usage,
        costUsd: 0,
        subtree: { agents: 1, usage, costUsd: 0 },
      },
    ],
    permissions: [
      {
        permission: 'p',
        path: ['a'],
        kind: 'tool',
        tool: 'Write',
        input: null,
        size: 900_000,
        suggestions: [],
        seq: 8,
        agent: 'a',
        at: 5,
        toolUse: 't',
      },
    ],
    queued: [{ agent: 'a', id: 'q', from: 'me', content: null, size: 300_000, seq: 9, position: 1 }],
  };
  expect(snapshotSchema.parse(snapshot)).toEqual(snapshot);
});
