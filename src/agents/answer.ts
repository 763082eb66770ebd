import type { PermissionDecision } from '../claude/stdin.ts';
import type { PermissionRow } from '../journal/journal.ts';
import { RequestError } from '../protocol/errors.ts';
import type { Params } from '../protocol/methods.ts';
import type { PermissionRequested, PermissionResolved } from '../protocol/permission.ts';

/** An answer as the CLI gets it, and as everybody learns of it. */
export type Decided = { decision: PermissionDecision; resolved: PermissionResolved };

export function decisionOf(params: Params<'permission.answer'>, row: PermissionRow, by: string): Decided {
  const { permission, behavior, message, interrupt } = params;
  if (behavior === 'deny') {
    const words = message ?? 'Denied by the user.';
    return {
      decision: { behavior, message: words, ...(interrupt && { interrupt }) },
      resolved: { permission, outcome: 'denied', by, message: words },
    };
  }
  const input = inputOf(params, JSON.parse(row.question) as PermissionRequested);
  const changed = params.updatedInput !== undefined || params.answers !== undefined;
  return {
    // Always with the input: without it 2.1.197 refuses the call (seen).
    decision: { behavior, updatedInput: input },
    resolved: {
      permission,
      outcome: 'allowed',
      by,
      ...(changed && { input }),
      ...(message !== undefined && { message }),
    },
  };
}

function inputOf(
  { updatedInput, answers }: Params<'permission.answer'>,
  { kind, input }: PermissionRequested,
) {
  const base = updatedInput ?? input;
  if (answers === undefined) return base;
  if (kind !== 'question') {
    throw new RequestError('invalid', 'answers goes with a question; this permission is about a tool.');
  }
  return { ...base, answers };
}

/**
 * An answer to a permission that is settled: the first one's outcome if it says the same, else an error that
 * tells what came first.
 */
export function settledOutcome(resolved: PermissionResolved, settled: string) {
  const first = JSON.parse(settled) as PermissionResolved;
  const told = { outcome: first.outcome, ...(first.by !== undefined && { by: first.by }) };
  if (first.outcome === 'withdrawn') {
    throw new RequestError(
      'withdrawn',
      'The permission died with its turn. There is nothing left to answer.',
      told,
    );
  }
  if (first.outcome === 'expired') {
    throw new RequestError(
      'expired',
      'The deadline passed and the call was denied. Claude may ask again.',
      told,
    );
  }
  if (meaning(first) !== meaning(resolved)) {
    const words = `${first.by ?? 'Somebody'} answered first (${first.outcome}), and that counts.`;
    throw new RequestError('already_answered', words, told);
  }
  return { outcome: first.outcome };
}

function meaning({ outcome, input, message }: PermissionResolved): string {
  return JSON.stringify([outcome, input, message]);
}
