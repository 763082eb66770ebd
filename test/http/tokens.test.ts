import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openTokens, tokenFromAuthorization } from '../../src/http/tokens.ts';

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'spawngate-tokens-'));
});
afterEach(() => rmSync(data, { recursive: true }));

const modeOf = (file: string) => statSync(file).mode & 0o777;
const store = (tokens: unknown) =>
  writeFileSync(join(data, 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('the gateway’s own token', () => {
  test('is made at the first start: 256 bits in a file of the owner’s alone', () => {
    const { token, file, warnings } = openTokens(data);
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    expect(readFileSync(file, 'utf8')).toBe(`${token}\n`);
    expect(modeOf(file)).toBe(0o600);
    expect(readdirSync(data)).toEqual(['token']);
    expect(warnings).toEqual([]);
  });

  test('is the same at the next start', () => {
    expect(openTokens(data).token).toBe(openTokens(data).token);
  });

  test('is tightened, with a warning, when others could read it', () => {
    const { file, token } = openTokens(data);
    chmodSync(file, 0o644);
    const again = openTokens(data);
    expect(again.token).toBe(token);
    expect(modeOf(file)).toBe(0o600);
    expect(again.warnings).toEqual([expect.stringContaining(file)]);
    expect(again.warnings[0]).not.toContain(token);
  });

  test('is refused when the file holds none, instead of letting everybody in', () => {
    for (const content of ['', '\n', 'short', `${'a'.repeat(30)} ${'b'.repeat(30)}`]) {
      writeFileSync(join(data, 'token'), content, { mode: 0o600 });
      expect(() => openTokens(data)).toThrow(/no usable token/);
    }
  });

  test('opens everything', () => {
    const tokens = openTokens(data);
    expect(tokens.principalOf(tokens.token)).toEqual({
      name: 'local',
      owner: 'local',
      scopes: ['read', 'start', 'answer', 'admin'],
    });
  });
});

test('an unknown token is nobody’s, however near it comes', () => {
  const tokens = openTokens(data);
  for (const wrong of ['', 'x', tokens.token.slice(1), `${tokens.token}x`, ` ${tokens.token}`])
    expect(tokens.principalOf(wrong)).toBeUndefined();
});

describe('further tokens', () => {
  const phone = { name: 'phone', owner: 'ada', scopes: ['read', 'answer'] };

  test('are known by their hashes', () => {
    store([{ ...phone, sha256: sha256('the phone’s token') }]);
    const tokens = openTokens(data);
    expect(tokens.principalOf('the phone’s token')).toEqual(phone);
    expect(tokens.principalOf(sha256('the phone’s token'))).toBeUndefined();
    expect(tokens.principalOf(tokens.token)?.name).toBe('local');
  });

  test('keep the gateway from starting when their file is bad, with the place', () => {
    for (const bad of [
      {},
      [{ ...phone, sha256: 'abc' }],
      [{ ...phone, scopes: ['root'], sha256: sha256('x') }],
    ]) {
      store(bad);
      expect(() => openTokens(data)).toThrow(/tokens\.json can't be used: /);
    }
    writeFileSync(join(data, 'tokens.json'), '[');
    expect(() => openTokens(data)).toThrow(/tokens\.json can't be used: /);
  });

  test('can’t be added by other users', () => {
    store([]);
    chmodSync(join(data, 'tokens.json'), 0o666);
    expect(openTokens(data).warnings).toHaveLength(1);
    expect(modeOf(join(data, 'tokens.json'))).toBe(0o600);
  });
});

describe('the Authorization header', () => {
  const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

  test('gives a bearer’s token, or Basic’s password under any name', () => {
    expect(tokenFromAuthorization('Bearer abc')).toBe('abc');
    expect(tokenFromAuthorization('bearer abc')).toBe('abc');
    expect(tokenFromAuthorization(basic('hermes:abc'))).toBe('abc');
    expect(tokenFromAuthorization(basic(':a:b'))).toBe('a:b');
  });

  test('gives nothing when there is nothing in it', () => {
    for (const header of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Digest abc',
      'abc',
      'Bearer a b',
      basic('abc'),
    ])
      expect(tokenFromAuthorization(header)).toBeUndefined();
    expect(tokenFromAuthorization(basic('hermes:'))).toBeUndefined();
  });
});
