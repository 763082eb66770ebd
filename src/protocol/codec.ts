import { Packr } from 'msgpackr';
import { isJsonValue, isShallow, maxDepth } from './json-value.ts';
import { messagePackFault } from './plain-messagepack.ts';

export type Encoding = 'json' | 'msgpack';
/** Text frames are strings, binary frames are bytes. */
export type Frame = string | Uint8Array;

/** `wrong_type`: a text frame where binary ones belong, or the reverse. */
export type Decoded =
  | { ok: true; value: unknown }
  | { ok: false; fault: 'wrong_type' | 'malformed'; message: string };

export interface Codec<Encoded extends Frame = Frame> {
  readonly encoding: Encoding;
  readonly binary: boolean;
  /** What JSON can't hold (a BigInt, a cycle) is a bug of the caller and throws. */
  encode(value: object): Encoded;
  /** Never throws: the bytes are a stranger's. */
  decode(frame: Frame): Decoded;
}

export const jsonCodec: Codec<string> = {
  encoding: 'json',
  binary: false,
  encode: (value) => JSON.stringify(value),
  decode(frame) {
    if (typeof frame !== 'string') return wrongType('text');
    try {
      const value: unknown = JSON.parse(frame);
      return isShallow(value) ? { ok: true, value } : malformed(`values nest deeper than ${maxDepth}`);
    } catch (error) {
      return malformed(error instanceof Error ? error.message : String(error));
    }
  },
};

const packr = new Packr({
  useRecords: false,
  encodeUndefinedAsNil: true,
  int64AsType: 'number',
  // Without it a map of more than 65,535 keys throws.
  variableMapSize: true,
  // Else a tool's input that holds keys named "constructor" and "toJSON" would be called as if it were code.
  useToJSON: false,
});

export const msgpackCodec: Codec<Uint8Array> = {
  encoding: 'msgpack',
  binary: true,
  // msgpackr writes Date, undefined and class instances in its own way; by way of JSON both encodings say the same.
  encode: (value) => packr.pack(isJsonValue(value) ? value : JSON.parse(JSON.stringify(value))),
  decode(frame) {
    if (typeof frame === 'string') return wrongType('binary');
    const fault = messagePackFault(frame);
    if (fault) return malformed(fault);
    try {
      return { ok: true, value: packr.unpack(frame) };
    } catch (error) {
      return malformed(error instanceof Error ? error.message : String(error));
    }
  },
};

export const codecs = { json: jsonCodec, msgpack: msgpackCodec } as const satisfies Record<Encoding, Codec>;

function wrongType(expected: 'text' | 'binary'): Decoded {
  return {
    ok: false,
    fault: 'wrong_type',
    message: `Send ${expected} frames, or offer the other subprotocol.`,
  };
}

function malformed(why: string): Decoded {
  return { ok: false, fault: 'malformed', message: `The frame can't be decoded: ${why}.` };
}
