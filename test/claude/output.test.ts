import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { longestLine, OutputReader, type RawLine } from '../../src/claude/output.ts';

/** A file that grows, and a reader at it. */
class Growing implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'spawngate-output-'));
  readonly file = join(this.#folder, 'out.ndjson');
  readonly reader: OutputReader;

  constructor(before = '', from = 0) {
    writeFileSync(this.file, before);
    this.reader = new OutputReader(this.file, from);
  }

  append(text: string | Uint8Array): void {
    appendFileSync(this.file, text);
  }

  /** All lines up to the end of what is there. */
  read(): RawLine[] {
    const all: RawLine[] = [];
    for (let lines = this.reader.next(); lines; lines = this.reader.next()) all.push(...lines);
    return all;
  }

  texts(): (string | undefined)[] {
    return this.read().map(({ text }) => text);
  }

  [Symbol.dispose](): void {
    this.reader.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

test('gives each line with its place, once its newline is there', () => {
  using file = new Growing('{"a":1}\n{"b"');
  expect(file.read()).toEqual([{ text: '{"a":1}', from: 0, to: 8 }]);
  expect(file.reader.unfinished).toBe(4);
  expect(file.reader.next()).toBeUndefined();
  file.append(':2}\n\n');
  expect(file.read()).toEqual([
    { text: '{"b":2}', from: 8, to: 16 },
    { text: '', from: 16, to: 17 },
  ]);
  expect(file.reader.unfinished).toBe(0);
});

test('begins at the byte where it is told to, as after a restart', () => {
  using file = new Growing('first\nsecond\nthird\n', 6);
  expect(file.read()).toEqual([
    { text: 'second', from: 6, to: 13 },
    { text: 'third', from: 13, to: 19 },
  ]);
});

test('takes what comes byte by byte, also within a character', () => {
  using file = new Growing();
  const found: RawLine[] = [];
  for (const byte of Buffer.from('{"a":"€🙂"}\nß\n')) {
    file.append(Uint8Array.of(byte));
    found.push(...file.read());
  }
  expect(found).toEqual([
    { text: '{"a":"€🙂"}', from: 0, to: 16 },
    { text: 'ß', from: 16, to: 19 },
  ]);
});

test('gives the same lines however they are cut and whenever they are read', () => {
  const short = fc.string({ unit: 'grapheme' });
  const long = fc.tuple(short, fc.integer({ min: 30_000, max: 90_000 }));
  const line = fc.oneof(
    short,
    long.map(([part, size]) => part.padEnd(size, '€x')),
  );
  const text = fc
    .array(line, { maxLength: 6 })
    .map((lines) => lines.map((one) => one.replaceAll(/[\r\n]/g, '')));
  const cuts = fc.array(fc.integer({ min: 1, max: 100_000 }), { maxLength: 8 });
  fc.assert(
    fc.property(text, cuts, (lines, sizes) => {
      using file = new Growing();
      const bytes = Buffer.from(lines.map((one) => `${one}\n`).join(''));
      const found: RawLine[] = [];
      let at = 0;
      for (const size of [...sizes, bytes.length]) {
        file.append(bytes.subarray(at, at + size));
        at += size;
        found.push(...file.read());
      }
      expect(found.map((one) => one.text)).toEqual(lines);
      for (const { text: one, from, to } of found) expect(bytes.toString('utf8', from, to)).toBe(`${one}\n`);
      expect(found.map(({ to }) => to).slice(0, -1)).toEqual(found.slice(1).map(({ from }) => from));
    }),
    { numRuns: 60 },
  );
});

test('leaves out the carriage return of a line’s end, and no other', () => {
  using file = new Growing('{"a":1}\r\n\r\nb\r\rc\r\r\n');
  expect(file.texts()).toEqual(['{"a":1}', '', 'b\r\rc\r']);
});

test('takes a line of 12 MB', () => {
  using file = new Growing(`before\n"${'€'.repeat(4_000_000)}"\nafter\n`);
  const [, long, after] = file.texts();
  expect(long).toHaveLength(4_000_002);
  expect(after).toBe('after');
});

test('gives no text for a line over the limit, keeps none of it, and goes on behind it', () => {
  using file = new Growing('before\n');
  const part = Buffer.alloc(8 << 20, 'x');
  for (let bytes = 0; bytes < longestLine; bytes += part.length) file.append(part);
  expect(file.texts()).toEqual(['before']);
  expect(file.reader.unfinished).toBe(longestLine);
  file.append('\nafter\n');
  expect(file.read()).toEqual([
    { from: 7, to: 7 + longestLine + 1 },
    { text: 'after', from: 7 + longestLine + 1, to: 7 + longestLine + 7 },
  ]);
});

test('reads to its end what was renamed, and then deleted', () => {
  using file = new Growing('one\n');
  expect(file.texts()).toEqual(['one']);
  file.append('two\n');
  renameSync(file.file, `${file.file}.old`);
  expect(file.texts()).toEqual(['two']);
  appendFileSync(`${file.file}.old`, 'three\n');
  rmSync(`${file.file}.old`);
  expect(file.texts()).toEqual(['three']);
});

test('tells whether a whole chunk was read, so that more is likely to be there', () => {
  using file = new Growing(`${'x'.repeat(100_000)}\n`);
  file.reader.next();
  expect(file.reader.wasFull).toBe(true);
  file.reader.next();
  expect(file.reader.wasFull).toBe(false);
});
