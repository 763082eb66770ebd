import { describe, expect, it } from 'vitest';
import { type Codec, codecs, jsonCodec, msgpackCodec } from '../../src/protocol/codec.ts';
import { facts, params } from './samples.ts';
import { tokensOf } from './tokens.ts';

/** A small generator with a fixed seed (mulberry32), so that a failure repeats. */
function randomFrom(seed: number) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const numbers = [
  0,
  1,
  -1,
  31,
  32,
  127,
  128,
  255,
  256,
  65535,
  65536,
  -32,
  -33,
  -128,
  -129,
  -32769,
  2 ** 31,
  2 ** 32,
];
const scalars = [
  null,
  true,
  false,
  ...numbers,
  ...[2 ** 53 - 1, -(2 ** 53 - 1), 1e300, 5e-324, 0.1, -1.5, 1_764_500_000_000],
  ...[
    '',
    'a',
    'x'.repeat(31),
    'x'.repeat(32),
    'é'.repeat(200),
    '漢'.repeat(70_000),
    '👩‍👩‍👧',
    '\0\n"\\',
    '\u2028',
  ],
];

function randomValue(random: () => number, depth: number): unknown {
  const pick = random();
  const size = Math.floor(random() * (random() < 0.1 ? 40 : 5));
  if (depth > 0 && pick < 0.25) return Array.from({ length: size }, () => randomValue(random, depth - 1));
  if (depth > 0 && pick < 0.6) {
    const entries = Array.from({ length: size }, (_, i) => [
      `${'k'.repeat(Math.floor(random() * 40))}${i}`,
      randomValue(random, depth - 1),
    ]);
    return Object.fromEntries(entries);
  }
  return scalars[Math.floor(random() * scalars.length)];
}

const values: object[] = [
  ...facts,
  ...Object.values(params),
  ...Array.from({ length: 300 }, (_, seed) => ({ value: randomValue(randomFrom(seed), 6) })),
  Array.from({ length: 70_000 }, (_, i) => i),
  // Keys that mean something to JavaScript; a model may write any of them into a tool's input.
  ...['constructor', 'toJSON', 'hasOwnProperty', 'then', 'valueOf', 'length'].map((name) => ({
    [name]: 1,
    a: { [name]: 'x' },
  })),
  {
    constructor: 1,
    toJSON: 2,
    hasOwnProperty: 3,
    toString: 4,
    extra: { constructor: { name: 'Map' }, toJSON: {} },
  },
  Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`k${i}`, i])),
];

describe.each(Object.values(codecs) as Codec[])('the codec $encoding', (codec) => {
  it('gives back what it was given', () => {
    for (const value of values) expect(codec.decode(codec.encode(value))).toEqual({ ok: true, value });
  });

  it('says the same as the other encoding of what is not JSON', () => {
    class Money {
      cents = 5;
      toJSON() {
        return `${this.cents} ct`;
      }
    }
    const odd = {
      absent: undefined,
      list: [undefined, Number.NaN, () => 1],
      date: new Date(0),
      money: new Money(),
      map: new Map([['a', 1]]),
      set: new Set([1]),
      pattern: /a/,
      infinite: Number.POSITIVE_INFINITY,
      wide: 2 ** 60,
    };
    const expected = JSON.parse(JSON.stringify(odd));
    expect(codec.decode(codec.encode(odd))).toEqual({ ok: true, value: expected });
  });

  it('throws at a BigInt and at a cycle: bugs of the caller', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(() => codec.encode({ big: 1n })).toThrow(TypeError);
    expect(() => codec.encode(cycle)).toThrow(TypeError);
  });

  it('tells a frame of the wrong type', () => {
    const frame = codec.binary ? '{}' : new Uint8Array([0x80]);
    expect(codec.decode(frame)).toMatchObject({ ok: false, fault: 'wrong_type' });
  });

  it('refuses to nest deeper than 1000, and takes what is less deep', () => {
    const nest = (depth: number) => {
      const text = '['.repeat(depth) + ']'.repeat(depth);
      return codec.binary ? new Uint8Array([...new Uint8Array(depth - 1).fill(0x91), 0x90]) : text;
    };
    expect(codec.decode(nest(999))).toMatchObject({ ok: true });
    expect(codec.decode(nest(200_000))).toMatchObject({ ok: false, fault: 'malformed' });
  });
});

describe('malformed JSON', () => {
  it.each(['', '{', '{"a":1}x', 'undefined', "{'a':1}"])('%j is told, not thrown', (frame) => {
    expect(jsonCodec.decode(frame)).toMatchObject({ ok: false, fault: 'malformed' });
  });
});

describe('MessagePack', () => {
  it('emits neither extensions nor binary strings', () => {
    const odd = {
      u: undefined,
      l: [undefined],
      d: new Date(),
      wide: [2 ** 60, -(2 ** 60), 2 ** 33],
      s: new Set([1]),
    };
    for (const value of [...values, odd, { bytes: new Uint8Array(3) }]) {
      const tokens = tokensOf(msgpackCodec.encode(value));
      expect(tokens.filter((token) => token.startsWith('ext') || token.startsWith('bin'))).toEqual([]);
    }
  });

  const text = (value: string) => [0xa0 + value.length, ...new TextEncoder().encode(value)];

  it.each([
    ['nothing', []],
    ['a map that is cut', [0x82, ...text('a'), 1]],
    ['a string that is cut', [0xa5, 0x61]],
    ['a length that is cut', [0xdb, 0, 0]],
    ['a number that is cut', [0xcb, 0, 0, 0]],
    ['an array of 4 billion', [0xdd, 0xff, 0xff, 0xff, 0xff]],
    ['a map of 4 billion', [0xdf, 0xff, 0xff, 0xff, 0xff]],
    ['two values', [0x80, 0x80]],
    ['the unused token', [0xc1]],
    ['a key that is a number', [0x81, 1, 2]],
    ['a key that is an array', [0x81, 0x90, 2]],
    ['a binary string', [0xc4, 1, 1]],
    ['a date', [0xd6, 0xff, 0, 0, 0, 1]],
    ['a record of msgpackr', [0xd4, 0x72, 0x40, 0x91, ...text('a'), 5]],
    ['a shared value of msgpackr', [0x92, 0xd6, 0x69, 0, 0, 0, 1, 0x91, 1, 0xd6, 0x70, 0, 0, 0, 1]],
    ['a bundle of msgpackr', [0xc7, 1, 0x62, ...text('a')]],
    ['an extension within a map', [0x81, ...text('a'), 0xd4, 0, 0]],
  ])('%s is told, not thrown', (_, bytes) => {
    expect(msgpackCodec.decode(Uint8Array.from(bytes))).toMatchObject({ ok: false, fault: 'malformed' });
  });

  it('never throws at noise', () => {
    const random = randomFrom(7);
    for (let i = 0; i < 20_000; i++) {
      const bytes = Uint8Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() * 256));
      const decoded = msgpackCodec.decode(bytes);
      if (decoded.ok) expect(JSON.parse(JSON.stringify({ v: decoded.value }))).toHaveProperty('v');
    }
  });

  it('reads 64-bit integers as numbers, from the middle of a larger buffer too', () => {
    const bytes = Uint8Array.from([0, 0, 0xcf, 0, 0, 0, 1, 0, 0, 0, 5, 0]);
    expect(msgpackCodec.decode(bytes.subarray(2, 11))).toEqual({ ok: true, value: 2 ** 32 + 5 });
  });
});
