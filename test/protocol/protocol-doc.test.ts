import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { stateReasons } from '../../src/protocol/agent.ts';
import { type CloseCode, closeCodes } from '../../src/protocol/close-codes.ts';
import { errorCodes } from '../../src/protocol/errors.ts';
import { factData } from '../../src/protocol/facts.ts';
import { limits } from '../../src/protocol/limits.ts';
import { methods } from '../../src/protocol/methods.ts';
import { notifications } from '../../src/protocol/notifications.ts';

const text = readFileSync(new URL('../../src/protocol/PROTOCOL.md', import.meta.url), 'utf8');

const cellsOf = (row: string) =>
  row
    .slice(1, -1)
    .split(' | ')
    .map((cell) => cell.trim());

/** The cells of the first table that has these columns. */
function table(...columns: string[]): string[][] {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => cellsOf(line).join() === columns.join());
  expect(start, `a table of ${columns.join(', ')}`).toBeGreaterThan(0);
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end < 0 ? undefined : end).map(cellsOf);
}

const code = (name: string) => `\`${name}\``;
const sorted = (rows: string[][]) => rows.toSorted((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1));

/** `` `name`, `optional?` `` in the order of names, for a comparison that doesn't depend on order. */
function fields(schema: z.ZodType): string[] {
  const shape = 'shape' in schema ? (schema.shape as Record<string, z.ZodType>) : {};
  return Object.entries(shape)
    .map(([name, field]) => code(field.safeParse(undefined).success ? `${name}?` : name))
    .toSorted();
}

const listed = (cell: string | undefined) => (cell === '–' ? [] : (cell ?? '').split(', ').toSorted());

describe('PROTOCOL.md', () => {
  it('lists every method with its scope, key, parameters and result', () => {
    const rows = table('method', 'scope', 'key', 'params', 'result').map(
      ([name, scope, key, params, result]) => ({
        name,
        scope,
        key,
        params: listed(params),
        result: listed(result),
      }),
    );
    const expected = Object.entries(methods).map(([name, method]) => ({
      name: code(name),
      scope: method.scope === null ? '–' : code(method.scope),
      key: method.mutates ? 'yes' : 'no',
      params: name === 'task.start' ? ['see below'] : fields(method.params),
      result: name === 'agent.get' ? ['see Views'] : fields(method.result),
    }));
    expect(rows).toEqual(expected);
  });

  it('lists every field of an agent', () => {
    const listedFields = table('field', 'meaning').flatMap(([names]) => listed(names));
    expect(listedFields.toSorted()).toEqual(fields(methods['agent.get'].result));
  });

  it('explains every method', () => {
    const headings = text.split('\n').filter((line) => line.startsWith('### '));
    for (const name of Object.keys(methods)) expect(headings.join()).toContain(code(name));
  });

  it.each([
    ['task.start', ['parameter', 'type', 'default', 'meaning']],
    ['permission.answer', ['parameter', 'goes with', 'meaning']],
  ] as const)('explains every parameter of %s', (name, columns) => {
    const explained = table(...columns).map(([parameter]) => parameter);
    const expected = Object.keys(methods[name].params.shape).map(code);
    expect(explained.toSorted()).toEqual(expected.toSorted());
  });

  it('lists every notification with its fields', () => {
    const rows = table('notification', 'params', 'meaning').map(([name, params]) => [name, listed(params)]);
    expect(rows).toEqual(Object.entries(notifications).map(([name, schema]) => [code(name), fields(schema)]));
  });

  it('lists every type of fact with its fields', () => {
    const rows = table('type', 'data', 'meaning').map(([type, data]) => [type, listed(data)]);
    expect(rows).toEqual(Object.entries(factData).map(([type, schema]) => [code(type), fields(schema)]));
  });

  it('lists every error code with number and meaning', () => {
    const expected = Object.entries(errorCodes).map(([name, { number, transient, meaning }]) => [
      code(name),
      String(number).replace('-', '−'),
      transient ? 'yes' : 'no',
      meaning,
    ]);
    expect(sorted(table('code', 'number', 'retryable', 'meaning'))).toEqual(sorted(expected));
  });

  it('lists every close code', () => {
    const entries = Object.entries(closeCodes) as [string, CloseCode][];
    const expected = entries.map(([number, { name, reason, comeBack }]) => [
      number,
      code(name),
      reason,
      comeBack ? 'yes' : 'no',
    ]);
    expect(table('code', 'name', 'reason', 'come back')).toEqual(expected);
  });

  it('lists every known reason of a state', () => {
    const expected = Object.entries(stateReasons).map(([name, meaning]) => [code(name), meaning]);
    expect(table('reason', 'meaning')).toEqual(expected);
  });

  it('lists the limits with their defaults', () => {
    const rows = table('limit', 'default', 'on reaching it').map(([name, value]) => [name, value]);
    expect(rows).toEqual(Object.entries(limits).map(([name, value]) => [code(name), String(value)]));
  });
});
