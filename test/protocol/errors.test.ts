import { expect, it } from 'vitest';
import {
  type ErrorCode,
  errorCodes,
  RequestError,
  rpcNumbers,
  wireErrorSchema,
} from '../../src/protocol/errors.ts';

it.each(Object.keys(errorCodes) as ErrorCode[])('%s crosses the wire with its number', (code) => {
  const wire = new RequestError(code, 'Do something.', { limit: 3 }).toWire();
  expect(wireErrorSchema.parse(wire)).toEqual(wire);
  expect(wire.code).toBe(errorCodes[code].number);
  expect(wire.data).toEqual({ code, limit: 3, ...(errorCodes[code].transient ? { retryable: true } : {}) });
});

it('tells malformed requests apart by number', () => {
  const wire = new RequestError('invalid', 'Send one JSON value.', {}, rpcNumbers.parse).toWire();
  expect(wire).toEqual({ code: -32700, message: 'Send one JSON value.', data: { code: 'invalid' } });
});

it('never lets a figure stand for the code', () => {
  expect(new RequestError('refused', 'x', { code: 'invalid', rule: 'depth' }).data).toEqual({
    code: 'refused',
    rule: 'depth',
  });
});
