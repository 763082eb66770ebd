import { closeSync, openSync, readSync } from 'node:fs';

/** A line of `out.ndjson` at bytes [from, to), newline included; no text if it was over the line limit. */
export type RawLine = { text?: string; from: number; to: number };

/** The longest line that is taken: 10 MB of model text in one line was seen, tools don't make long lines. */
export const longestLine = 32 * 1024 * 1024;

const chunkBytes = 64 * 1024;
/** One for all readers: reading and splitting are one synchronous step. */
const chunk = Buffer.allocUnsafeSlow(chunkBytes);
const newline = 0x0a;

/**
 * Reads a growing file line by line. The descriptor stays open, so that a renamed or deleted spool is still
 * read to its end.
 */
export class OutputReader {
  readonly #fd: number;
  #position: number;
  #lineFrom: number;
  #lastRead = 0;
  /** The line that has no end yet, in the pieces it came in; dropped once it is over the limit. */
  #pieces: Buffer[] = [];

  constructor(file: string, from: number) {
    this.#fd = openSync(file, 'r');
    this.#position = from;
    this.#lineFrom = from;
  }

  /** The lines that one chunk completes (maybe none), or undefined at the end of what is there. */
  next(): RawLine[] | undefined {
    const base = this.#position;
    const bytes = chunk.subarray(0, readSync(this.#fd, chunk, 0, chunkBytes, base));
    this.#lastRead = bytes.length;
    if (bytes.length === 0) return undefined;
    this.#position = base + bytes.length;
    const lines: RawLine[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
      lines.push(this.#finish(bytes.subarray(start, end), base + end + 1));
      start = end + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
    return lines;
  }

  /** The last chunk was a whole one, so that more is likely to be there. */
  get wasFull(): boolean {
    return this.#lastRead === chunkBytes;
  }

  /** Bytes of the last line, which has no newline yet. */
  get unfinished(): number {
    return this.#position - this.#lineFrom;
  }

  #finish(tail: Buffer, to: number): RawLine {
    const from = this.#lineFrom;
    const whole = this.#pieces.length > 0 ? Buffer.concat([...this.#pieces, tail]) : tail;
    this.#pieces = [];
    this.#lineFrom = to;
    if (to - from > longestLine) return { from, to };
    return { text: whole.toString('utf8').replace(/\r$/, ''), from, to };
  }

  #keep(rest: Buffer): void {
    if (this.unfinished > longestLine) this.#pieces = [];
    else this.#pieces.push(Buffer.from(rest));
  }

  close(): void {
    closeSync(this.#fd);
  }
}
