import { z } from 'zod';

/** JSON-RPC 2.0, section 5.1. */
export const rpcNumbers = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  application: -32000,
} as const;

const application = rpcNumbers.application;

/**
 * The closed list of `data.code`. A `transient` error says nothing about the request itself: it is marked `retryable`
 * on the wire and never kept under a `key`.
 */
export const errorCodes = {
  invalid: {
    number: rpcNumbers.invalidParams,
    transient: false,
    meaning: 'The request is malformed; the number tells how. Correct it before sending it again.',
  },
  unauthorized: {
    number: application,
    transient: false,
    meaning: 'The credentials are missing or no longer valid. Connect with a valid token.',
  },
  forbidden: {
    number: application,
    transient: false,
    meaning: 'The token lacks the scope named in `scope`. Use a token that has it.',
  },
  not_found: {
    number: application,
    transient: false,
    meaning: 'No such id among those you may see (a foreign one looks the same).',
  },
  not_running: {
    number: application,
    transient: false,
    meaning: 'The agent has ended (`state`). Resume it, or start a new task.',
  },
  already_answered: {
    number: application,
    transient: false,
    meaning: 'Another answer came first and counts (`outcome`, `by`).',
  },
  withdrawn: {
    number: application,
    transient: false,
    meaning: 'The permission died with its turn. There is nothing left to answer.',
  },
  expired: {
    number: application,
    transient: false,
    meaning: 'The deadline passed and the call was denied. Claude may ask again.',
  },
  stale_turn: {
    number: application,
    transient: false,
    meaning: 'Another turn is open than the one you named (`turn`). Look again, then decide.',
  },
  conflict: {
    number: application,
    transient: false,
    meaning: 'Not possible in the present state (`state`). Wait for the state that the message names.',
  },
  key_reused: {
    number: application,
    transient: false,
    meaning: 'The key was used with other parameters. Use a new key for a new request.',
  },
  refused: {
    number: application,
    transient: false,
    meaning: 'A rule forbids it: `rule` and its figures say which and by how much.',
  },
  queue_full: {
    number: application,
    transient: true,
    meaning: 'The queue holds its `limit` already. Try again when something has ended.',
  },
  rate_limited: {
    number: application,
    transient: true,
    meaning: 'Too many requests. Wait `retryAfterMs`, then try again.',
  },
  overloaded: {
    number: application,
    transient: true,
    meaning: 'Over `limit` calls of this connection are open. Await some answers first.',
  },
  unavailable: {
    number: application,
    transient: true,
    meaning: 'The gateway cannot do this now (draining, disk full, no Claude). Try again later.',
  },
  too_large: {
    number: application,
    transient: false,
    meaning: 'The request exceeds a bound (`size`, `limit`). Send less.',
  },
  internal: {
    number: rpcNumbers.internal,
    transient: false,
    meaning: 'A fault of the gateway. Report it with the `ref` that stands in its log.',
  },
} as const;
export type ErrorCode = keyof typeof errorCodes;

const codeNames = Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]];
export const errorCodeSchema = z.enum(codeNames);

/** Beside the three named fields stand the figures of the case, such as `limit` and `used`. */
export const errorDataSchema = z.looseObject({
  code: errorCodeSchema,
  rule: z.string().optional(),
  retryable: z.boolean().optional(),
});
export type ErrorData = z.infer<typeof errorDataSchema>;

export const wireErrorSchema = z.looseObject({
  code: z.int(),
  message: z.string().min(1),
  data: errorDataSchema,
});
export type WireError = z.infer<typeof wireErrorSchema>;

/** An error that is answered; the socket lives. `message` says what to do. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly code: ErrorCode;
  readonly data: ErrorData;
  readonly number: number;

  /** `number` is given only where `invalid` means something else than bad parameters. */
  constructor(
    code: ErrorCode,
    message: string,
    figures: Record<string, unknown> = {},
    number: number = errorCodes[code].number,
  ) {
    super(message);
    this.code = code;
    this.number = number;
    this.data = { ...figures, code, ...(errorCodes[code].transient ? { retryable: true } : {}) };
  }

  toWire(): WireError {
    return { code: this.number, message: this.message, data: this.data };
  }
}
