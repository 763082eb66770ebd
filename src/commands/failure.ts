import {
  type ClientError,
  ClosedError,
  OverflowError,
  RefusedError,
  RequestError,
  TimeoutError,
  TooLargeError,
  UnknownOutcomeError,
  UnreachableError,
} from '../../client/index.ts';
import { ConfigError } from '../flags.ts';
import { program } from './program.ts';

const clientErrors = [
  ...[ClosedError, OverflowError, RefusedError, RequestError],
  ...[TimeoutError, TooLargeError, UnknownOutcomeError, UnreachableError],
];

function isClientError(error: unknown): error is ClientError {
  return clientErrors.some((kind) => error instanceof kind);
}

/** How a command says that it failed: what people can mend in a line, a bug with its stack. */
export function failure(error: unknown, asJson: boolean): string {
  const isMendable = error instanceof ConfigError || isClientError(error);
  if (!asJson)
    return isMendable ? `${error.message}${adviceOn(error)}` : ((error as Error).stack ?? String(error));
  const kind = isClientError(error) ? error.kind : isMendable ? 'usage' : 'bug';
  const data = error instanceof RequestError ? { code: error.code, data: error.data } : {};
  return JSON.stringify({ error: { kind, message: (error as Error).message, ...data } });
}

function adviceOn(error: ConfigError | ClientError): string {
  if (error instanceof UnreachableError)
    return `\n\`${program} serve\` starts one; --url or SPAWNGATE_URL names another.`;
  if (error instanceof RefusedError && error.closeCode === 4501) {
    return "\nName the right token with --token-file, SPAWNGATE_TOKEN, or --data (the gateway's folder).";
  }
  return '';
}
