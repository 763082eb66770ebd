import { maxDepth } from './json-value.ts';

/** Bytes that follow the tokens 0xc0–0xdf; a negative number is the width of a length field. Absent: not JSON. */
const following: Record<number, number> = {
  192: 0, // nil
  194: 0, // false
  195: 0, // true
  202: 4, // float 32
  203: 8, // float 64
  204: 1, // uint 8, 16, 32, 64
  205: 2,
  206: 4,
  207: 8,
  208: 1, // int 8, 16, 32, 64
  209: 2,
  210: 4,
  211: 8,
  217: -1, // str 8, 16, 32
  218: -2,
  219: -4,
  220: -2, // array 16, 32
  221: -4,
  222: -2, // map 16, 32
  223: -4,
};

type Head = { kind: 'scalar' | 'string' | 'array' | 'map'; length: number; next: number };

/** The token at `at`; `next` is where its body begins. */
function readHead(view: DataView, at: number): Head | undefined {
  const token = view.getUint8(at);
  const next = at + 1;
  if (token < 0x80 || token >= 0xe0) return { kind: 'scalar', length: 0, next };
  if (token < 0x90) return { kind: 'map', length: token & 15, next };
  if (token < 0xa0) return { kind: 'array', length: token & 15, next };
  if (token < 0xc0) return { kind: 'string', length: token & 31, next };
  const width = following[token];
  if (width === undefined) return undefined;
  if (width >= 0) return { kind: 'scalar', length: width, next };
  const length =
    width === -1 ? view.getUint8(next) : width === -2 ? view.getUint16(next) : view.getUint32(next);
  const kind = token >= 222 ? 'map' : token >= 220 ? 'array' : 'string';
  return { kind, length, next: next - width };
}

/**
 * What keeps bytes from being one plain MessagePack value with the shapes of JSON, or undefined. It is asked before
 * msgpackr decodes: among its extensions are ones that build functions and shared or cyclic values out of a client's
 * bytes.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a reader of one byte format, token by token
export function messagePackFault(bytes: Uint8Array): string | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const levels = [{ left: 1, map: false }];
  let at = 0;
  while (levels.length > 0) {
    const level = levels.at(-1) as { left: number; map: boolean };
    if (level.left === 0) {
      levels.pop();
      continue;
    }
    const isKey = level.map && level.left % 2 === 0;
    level.left -= 1;
    const head = at + 5 <= bytes.length ? readHead(view, at) : readHeadNearEnd(bytes, at);
    if (head === 'cut') return 'the bytes end within a value';
    if (head === undefined) return 'extensions and binary strings are not part of this protocol';
    if (isKey && head.kind !== 'string') return 'a map may have strings as keys only';
    at = head.next;
    if (head.kind === 'array' || head.kind === 'map') {
      if (levels.length > maxDepth) return `values nest deeper than ${maxDepth}`;
      levels.push({ left: head.kind === 'map' ? head.length * 2 : head.length, map: head.kind === 'map' });
    } else {
      at += head.length;
      if (at > bytes.length) return 'the bytes end within a value';
    }
  }
  return at === bytes.length ? undefined : 'more bytes follow the value';
}

/** The same where a length field might reach beyond the end. */
function readHeadNearEnd(bytes: Uint8Array, at: number): Head | 'cut' | undefined {
  if (at >= bytes.length) return 'cut';
  const padded = new Uint8Array(5);
  padded.set(bytes.subarray(at, at + 5));
  const head = readHead(new DataView(padded.buffer), 0);
  if (head && at + head.next > bytes.length) return 'cut';
  return head && { ...head, next: at + head.next };
}
