import type { PermissionDecision } from '../claude/stdin.ts';
import type { PermissionRow } from '../journal/journal.ts';
import { RequestError } from '../protocol/errors.ts';
import type { Params } from '../protocol/methods.ts';
import type { PermissionRequested, PermissionResolved, Remember } from '../protocol/permission.ts';
import { canonical } from './canonical.ts';
import type { Draft } from './draft.ts';
import { modeOf } from './modes.ts';
import { answered, rememberedFor } from './permissions.ts';
import { demandScope, type Principal } from './principal.ts';
import type { Remembered } from './record.ts';

/** An answer as the CLI gets it, and as everybody learns of it. */
export type Decided = {
  decision: PermissionDecision;
  resolved: PermissionResolved;
  /** What is to be remembered of it. */
  remember?: { span: Remember; same: Remembered; rule?: string };
  /** A plan is accepted, so planning is over. */
  planned?: true;
};

export function decisionOf(params: Params<'permission.answer'>, row: PermissionRow, by: Principal): Decided {
  const { permission, behavior, message, interrupt } = params;
  if (behavior === 'deny') {
    const words = message ?? 'Denied by the user.';
    return {
      decision: { behavior, message: words, ...(interrupt && { interrupt }) },
      resolved: { permission, outcome: 'denied', by: by.name, message: words },
    };
  }
  const question = JSON.parse(row.question) as PermissionRequested;
  const input = inputOf(params, question);
  const changed = params.updatedInput !== undefined || params.answers !== undefined;
  const remember = rememberOf(params, { ...question, input }, by);
  return {
    // Always with the input: without it 2.1.197 refuses the call (seen).
    decision: {
      behavior,
      updatedInput: input,
      ...(remember?.rule && { updatedPermissions: [addRule(remember.rule)] }),
    },
    resolved: {
      permission,
      outcome: 'allowed',
      by: by.name,
      ...(changed && { input }),
      ...(message !== undefined && { message }),
      ...(remember && { remembered: remember.span }),
      ...(remember?.rule && { rule: remember.rule }),
    },
    ...(remember && { remember }),
    ...(question.kind === 'plan' && { planned: true }),
  };
}

/** What is remembered is the very call that was allowed; a rule that is wider must be named, by an admin. */
function rememberOf(
  { remember, rule }: Params<'permission.answer'>,
  question: PermissionRequested,
  by: Principal,
) {
  if (remember === undefined) return undefined;
  if (question.kind !== 'tool') {
    throw new RequestError('invalid', `remember goes with a tool; this permission is a ${question.kind}.`);
  }
  if (rule !== undefined) demandScope(by, 'admin');
  return {
    span: remember,
    same: rememberedFor(question.tool, question.input),
    ...(rule !== undefined && { rule }),
  };
}

/** For the session only: the CLI's own suggestions would write into the project's settings (seen). */
function addRule(rule: string): object {
  const [, toolName, ruleContent] = /^([^()]+)(?:\((.*)\))?$/s.exec(rule) ?? [];
  if (!toolName) throw new RequestError('invalid', `"${rule}" is no rule. Write it like Bash(npm test *).`);
  const rules = [{ toolName, ...(ruleContent !== undefined && { ruleContent }) }];
  return { type: 'addRules', rules, behavior: 'allow', destination: 'session' };
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
  return { outcome: first.outcome, ...(first.remembered && { remembered: first.remembered }) };
}

function meaning({ outcome, input, message }: PermissionResolved): string {
  return canonical([outcome, input, message]);
}

/** Takes an answer into the record: what is to be remembered, and the answer itself. */
export function takeAnswer(draft: Draft, requestId: string, decided: Decided) {
  const { decision, resolved, remember, planned } = decided;
  const { record } = draft;
  // As the CLI does by itself; a later run would plan anew.
  if (planned && modeOf(draft) === 'plan') record.settings.permissionMode = 'default';
  if (remember?.rule !== undefined) {
    if (remember.span === 'agent') record.rules.push(remember.rule);
  } else if (remember) {
    record.remembered.push({ ...remember.same, ...(remember.span === 'run' && { run: record.run }) });
  }
  answered(draft, requestId, decision, resolved);
  return { outcome: resolved.outcome, ...(remember && { remembered: remember.span }) };
}
