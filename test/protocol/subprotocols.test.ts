import { describe, expect, it } from 'vitest';
import { bearerSubprotocol, parseOffer, ticketSubprotocol } from '../../src/protocol/subprotocols.ts';

const json = { kind: 'chosen', encoding: 'json', name: 'spawngate.v1.json' };
const msgpack = { kind: 'chosen', encoding: 'msgpack', name: 'spawngate.v1.msgpack' };

describe('an offer', () => {
  it.each([[undefined], [''], [[]]])('of nothing means JSON: %j', (offered) => {
    expect(parseOffer(offered)).toEqual({ kind: 'none' });
  });

  it.each([
    ['spawngate.v1.json', json],
    ['spawngate.v1.msgpack', msgpack],
    ['spawngate.v1.msgpack, spawngate.v1.json', msgpack],
    ['chat,spawngate.v1.json , spawngate.v1.msgpack', json],
  ])('%j takes the first encoding', (offered, chosen) => {
    expect(parseOffer(offered)).toEqual(chosen);
  });

  it.each(['chat', 'spawngate.v2.json', 'spawngate.bearer.YQ', 'SPAWNGATE.V1.JSON', 'toString'])(
    '%j is unsupported',
    (offered) => {
      expect(parseOffer(offered)).toEqual({ kind: 'unsupported' });
    },
  );

  it.each(['secret', 'ünï-code/+?', 'a', 'x'.repeat(500)])('carries the token %j', (token) => {
    const name = bearerSubprotocol(token);
    expect(name).toMatch(/^spawngate\.bearer\.[A-Za-z0-9_-]+$/);
    expect(name).toBe(`spawngate.bearer.${Buffer.from(token).toString('base64url')}`);
    expect(parseOffer(new Set([name, 'spawngate.v1.json']))).toEqual({ ...json, token });
  });

  it('carries a ticket', () => {
    expect(parseOffer(`spawngate.v1.msgpack, ${ticketSubprotocol('t_1-2')}`)).toEqual({
      ...msgpack,
      ticket: 't_1-2',
    });
  });

  it.each(['!!!', 'A', '_w', ''])('with the undecodable token %j holds an empty one', (text) => {
    expect(parseOffer(`spawngate.v1.json, spawngate.bearer.${text}`)).toEqual({ ...json, token: '' });
  });
});
