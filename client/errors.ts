import type { ErrorCode, ErrorData, WireError } from '../src/protocol/errors.ts';

/** The gateway answered with an error; the connection lives. `message` says what to do, `code` is to branch on. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly kind = 'request';
  readonly code: ErrorCode;
  /** With the rule and the figures of the case. */
  readonly data: ErrorData;

  constructor({ message, data }: Pick<WireError, 'message' | 'data'>) {
    super(message);
    this.code = data.code;
    this.data = data;
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.data.retryable === true;
  }
}

/** This client was closed, by `close()` or by its signal. */
export class ClosedError extends Error {
  override readonly name = 'ClosedError';
  readonly kind = 'closed';

  constructor(cause?: unknown) {
    super('This client was closed. Connect again.', { cause });
  }
}

/** The gateway closed the connection with a code that says not to come back. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly kind = 'refused';
  readonly closeCode: number;

  constructor(closeCode: number, reason: string) {
    super(`The gateway refuses this client: ${reason || 'no reason given'} (close code ${closeCode}).`);
    this.closeCode = closeCode;
  }
}

/** The first attempt to connect failed, so there was nothing yet to hold on to. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  readonly kind = 'unreachable';
  readonly closeCode: number;

  constructor(url: string, closeCode: number) {
    super(`No gateway answers at ${url} (close code ${closeCode}). Is it running, and is the address right?`);
    this.closeCode = closeCode;
  }
}

/** No answer within `timeoutMs`. With `sent` the call may still be carried out. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  readonly kind = 'timeout';
  readonly method: string;
  readonly sent: boolean;

  constructor(method: string, { timeoutMs, sent }: { timeoutMs: number; sent: boolean }) {
    super(
      `${method} had no answer in ${timeoutMs} ms; ${sent ? 'it may still be carried out' : 'it was not sent'}.`,
    );
    this.method = method;
    this.sent = sent;
  }
}

/** The connection was lost after the call was sent and before it was answered, and it could not be repeated. */
export class UnknownOutcomeError extends Error {
  override readonly name = 'UnknownOutcomeError';
  readonly kind = 'unknown_outcome';
  readonly method: string;

  constructor(method: string, cause?: unknown) {
    super(`The connection was lost before ${method} was answered: whether it was carried out is unknown.`, {
      cause,
    });
    this.method = method;
  }
}

/** The call exceeds the gateway's `maxFrameBytes`, which would close the connection. It was not sent. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
  readonly kind = 'too_large';
  readonly size: number;
  readonly limit: number;

  constructor(method: string, { size, limit }: { size: number; limit: number }) {
    super(`${method} takes ${size} bytes, the gateway takes ${limit} at most. Send less.`);
    this.size = size;
    this.limit = limit;
  }
}

/** Too many calls wait to be sent. This one was not sent. */
export class OverflowError extends Error {
  override readonly name = 'OverflowError';
  readonly kind = 'overflow';
  readonly limit: number;

  constructor(limit: number) {
    super(`Over ${limit} calls wait to be sent. Await some answers first.`);
    this.limit = limit;
  }
}

/** Why there is no connection any more. */
export type EndError = ClosedError | RefusedError | UnreachableError;

/** All that this library throws of its own; `kind` tells them apart. A signal's own reason is thrown as it is. */
export type ClientError =
  | RequestError
  | EndError
  | TimeoutError
  | UnknownOutcomeError
  | TooLargeError
  | OverflowError;
