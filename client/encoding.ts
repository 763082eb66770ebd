import type { subprotocols } from '../src/protocol/subprotocols.ts';

/** How messages become frames. JSON is built in; another one is the program's to bring. */
export interface Encoding {
  readonly subprotocol: (typeof subprotocols)[keyof typeof subprotocols];
  encode(message: object): string | Uint8Array<ArrayBuffer>;
  decode(frame: string | ArrayBuffer): unknown;
}

export const json: Encoding = {
  subprotocol: 'spawngate.v1.json',
  encode: (message) => JSON.stringify(message),
  decode: (frame) => JSON.parse(frame as string),
};

export function bytesOf(frame: string | Uint8Array): number {
  return typeof frame === 'string' ? new TextEncoder().encode(frame).length : frame.byteLength;
}
