import { describe, expect, it } from 'vitest';
import { type CloseCode, closeCodes, comesBack } from '../../src/protocol/close-codes.ts';

const table = Object.entries(closeCodes).map(([code, entry]) => ({
  code: Number(code),
  ...(entry as CloseCode),
}));

describe.each(table)('$code $name', ({ code, reason, comeBack }) => {
  it('has a reason that fits into a close frame', () => {
    const bytes = new TextEncoder().encode(reason).length;
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(123);
  });

  it('is in the range of its decision', () => {
    expect(comesBack(code)).toBe(comeBack);
    if (code >= 4000) expect(comeBack).toBe(code < 4500);
    else expect([1001, 1009, 1013]).toContain(code);
  });
});

it('has a name for each code once', () => {
  expect(new Set(table.map((entry) => entry.name)).size).toBe(table.length);
});

it.each([
  [1000, true],
  [1006, true],
  [1011, true],
  [4099, true],
  [4499, true],
  [4500, false],
  [4999, false],
])('decides on the unknown code %i: come back %s', (code, decision) => {
  expect(comesBack(code)).toBe(decision);
});
