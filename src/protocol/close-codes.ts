export interface CloseCode {
  readonly name: string;
  /** At most 123 bytes (RFC 6455, 5.5). */
  readonly reason: string;
  /** Whether a client connects again, with backoff, or tells its user instead. */
  readonly comeBack: boolean;
}

/** Every code that the gateway closes with. Own codes: 4000–4499 come back, 4500–4999 don't. */
export const closeCodes = {
  1001: { name: 'going_away', reason: 'the gateway is shutting down; agents go on', comeBack: true },
  1009: {
    name: 'frame_too_big',
    reason: 'a frame exceeded limits.maxFrameBytes; do not send it again',
    comeBack: true,
  },
  1013: {
    name: 'try_later',
    reason: 'too many connections, or the journal cannot be read; try again later',
    comeBack: true,
  },
  4001: { name: 'heartbeat_lost', reason: 'a ping went unanswered', comeBack: true },
  4501: { name: 'unauthorized', reason: 'the token is missing, wrong or revoked', comeBack: false },
  4502: {
    name: 'protocol_violation',
    reason: 'a frame of the wrong type, or too many frames that are not JSON-RPC 2.0',
    comeBack: false,
  },
  4503: { name: 'too_many_calls', reason: 'over 256 calls were open; await answers', comeBack: false },
  4504: {
    name: 'unsupported_subprotocol',
    reason: 'offer spawngate.v1.json or spawngate.v1.msgpack',
    comeBack: false,
  },
} as const satisfies Record<number, CloseCode>;
export type CloseCodeNumber = keyof typeof closeCodes;

/** The decision for any code that a socket may end with; 1005, 1006 and other unknown ones are mishaps: come back. */
export function comesBack(code: number): boolean {
  const known: CloseCode | undefined = closeCodes[code as CloseCodeNumber];
  return known ? known.comeBack : code < 4500 || code > 4999;
}
