import { createHash } from 'node:crypto';
import { type Change, CommitRefused, type Journal } from '../journal/journal.ts';
import { RequestError } from '../protocol/errors.ts';
import { canonical } from './canonical.ts';
import type { Principal } from './principal.ts';

/** A mutating call of a client. */
export type Call = { principal: Principal; method: string; params: { key?: string | undefined } };

/** Makes the change that keeps an outcome under the call's key; none if it has no key. */
export type Keep = (outcome: object) => Change[];

/**
 * Carries out a call once under its key: a repetition gets the first outcome, over reconnects and restarts. The
 * outcome is kept in the commit that does the work, so there is no moment at which one is there without the other.
 */
export async function keyed<T extends object>(
  journal: Journal,
  call: Call,
  now: number,
  carryOut: (keep: Keep) => Promise<T>,
): Promise<T> {
  const { principal, method, params } = call;
  const { key, ...rest } = params;
  if (key === undefined) return carryOut(() => []);
  const digest = createHash('sha256').update(canonical(rest)).digest('base64url');
  const first = await firstOutcome<T>(journal, call, digest);
  if (first) return first;
  try {
    return await carryOut((outcome) => [
      {
        type: 'key.keep',
        key: {
          owner: principal.owner,
          method,
          key,
          params: digest,
          outcome: JSON.stringify(outcome),
          at: now,
        },
      },
    ]);
  } catch (error) {
    // The same call on another socket was a moment faster.
    const other = error instanceof CommitRefused && error.rule === 'key_taken';
    const outcome = other && (await firstOutcome<T>(journal, call, digest));
    if (outcome) return outcome;
    throw error;
  }
}

async function firstOutcome<T>(journal: Journal, call: Call, digest: string): Promise<T | undefined> {
  const kept = await journal.key(call.principal.owner, call.method, call.params.key ?? '');
  if (!kept) return undefined;
  if (kept.params !== digest) {
    const words = 'This key was used with other parameters. Use a new key for a new request.';
    throw new RequestError('key_reused', words, { key: call.params.key });
  }
  return JSON.parse(kept.outcome) as T;
}
