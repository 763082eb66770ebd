import { describe, expect, it } from 'vitest';
import { clientMessageSchema, requestSchema, serverMessageSchema } from '../../src/protocol/rpc.ts';

describe('a request', () => {
  it.each([{ id: 1 }, { id: 'x' }, { id: 0, params: {} }])('may be %j', (part) => {
    const request = { jsonrpc: '2.0', method: 'ping', ...part };
    expect(requestSchema.parse(request)).toEqual(request);
  });

  it.each([
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }]],
    ['another version', { jsonrpc: '1.0', id: 1, method: 'ping' }],
    ['an id that is null', { jsonrpc: '2.0', id: null, method: 'ping' }],
    ['an id that is a fraction', { jsonrpc: '2.0', id: 1.5, method: 'ping' }],
    ['params by position', { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }],
    ['params that are null', { jsonrpc: '2.0', id: 1, method: 'ping', params: null }],
    ['an unknown member', { jsonrpc: '2.0', id: 1, method: 'ping', token: 'x' }],
    ['a response', { jsonrpc: '2.0', id: 1, result: 1 }],
    ['a string', 'ping'],
  ])('is never %s', (_, value) => {
    expect(clientMessageSchema.safeParse(value).success).toBe(false);
  });
});

describe('what the gateway sends', () => {
  it.each([
    { jsonrpc: '2.0', id: 1, result: {} },
    {
      jsonrpc: '2.0',
      id: null,
      error: { code: -32700, message: 'Send JSON.', data: { code: 'invalid', at: 3 } },
    },
    { jsonrpc: '2.0', method: 'heartbeat', params: { through: 1 } },
  ])('may be %j', (message) => {
    expect(serverMessageSchema.parse(message)).toEqual(message);
  });

  it('never is an error outside the closed list', () => {
    const error = { code: -32000, message: 'x', data: { code: 'misfortune' } };
    expect(serverMessageSchema.safeParse({ jsonrpc: '2.0', id: 1, error }).success).toBe(false);
  });
});
