import { expect, test } from 'vitest';
import { OpenRun } from '../../src/agents/open-run.ts';
import type { Ports } from '../../src/agents/ports.ts';
import type { InputLine } from '../../src/journal/journal.ts';

const sent = (name: string, i: number) => `${name} ${i}`;
const line = (ref: string): InputLine => ({ kind: 'user', ref, from: 0, to: 1, bytes: new Uint8Array(1) });

test('the last two thousand uuids of ours are known, those from before a restart among them', async () => {
  const before = Array.from({ length: 1_500 }, (_, i) => sent('before', i));
  const ports = {
    // Newest first, as the journal gives them.
    journal: { sentUuids: async () => before.toReversed(), inputs: async () => [] },
    openRun: () => ({ read: () => ({}), written: () => 0 }),
  } as unknown as Ports;
  const row = { agent: 'a', run: 1, marker: 'm', factsTo: 0, textFrom: 0, inputTo: 0 };
  const open = await OpenRun.takeUp(row, ports);
  for (let i = 0; i < 700; i += 1) open.place([line(sent('since', i))], i);
  expect(open.ourUuids.size).toBe(2_000);
  const oldest = 1_500 + 700 - 2_000;
  expect(open.ourUuids.has(sent('before', oldest - 1))).toBe(false);
  expect(open.ourUuids.has(sent('before', oldest))).toBe(true);
  expect(open.ourUuids.has(sent('since', 699))).toBe(true);
});
