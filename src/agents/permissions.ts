import { createHash } from 'node:crypto';
import type { Ask } from '../claude/lines.ts';
import { answerLine, type PermissionDecision } from '../claude/stdin.ts';
import type {
  PermissionKind,
  PermissionRequested,
  PermissionResolved,
  ToolInput,
} from '../protocol/permission.ts';
import { canonical } from './canonical.ts';
import type { Draft } from './draft.ts';
import { modeOf } from './modes.ts';
import type { Remembered } from './record.ts';

/** The same question of the same run has the same id, so that reading a line twice asks once. */
export function permissionId(agent: string, run: number, requestId: string): string {
  return `perm_${digest(`${agent}/${run}/${requestId}`).slice(0, 24)}`;
}

const kinds: Record<string, PermissionKind> = { AskUserQuestion: 'question', ExitPlanMode: 'plan' };

/** The CLI's `can_use_tool` becomes a stored permission; one that is decided already is answered at once. */
export function asked(draft: Draft, ask: Ask): void {
  const { record } = draft;
  if (record.asks[ask.requestId] || record.answered.includes(ask.requestId)) return;
  const question = questionOf(draft, ask);
  store(draft, ask, question);
  const rule = standingRule(draft, question);
  if (!rule) return;
  const { permission, input } = question;
  answered(
    draft,
    ask.requestId,
    { behavior: 'allow', updatedInput: input },
    { permission, outcome: 'allowed', by: 'gateway', rule },
  );
}

function questionOf({ agent, record, at }: Draft, ask: Ask): PermissionRequested {
  const kind = kinds[ask.tool] ?? 'tool';
  const input = isObject(ask.input) ? ask.input : {};
  const minutes = agent.task.limits?.permissionMinutes;
  return {
    permission: permissionId(agent.id, record.run, ask.requestId),
    path: agent.path,
    kind,
    tool: ask.tool,
    // 2.1.332 asks with an empty input when there is no plan file.
    input:
      kind === 'plan' && input.plan === undefined && record.plan ? { ...input, plan: record.plan } : input,
    suggestions: ask.suggestions,
    ...(minutes !== undefined && { deadline: at + Math.round(minutes * 60_000) }),
    ...(ask.toolUse && { toolUse: ask.toolUse }),
    ...(ask.inner && { inner: ask.inner }),
    ...(ask.description && { description: ask.description }),
  };
}

function store(draft: Draft, { requestId, inner, toolUse }: Ask, question: PermissionRequested): void {
  const { agent, record, at } = draft;
  const { permission, deadline } = question;
  record.asks[requestId] = {
    permission,
    ...(inner && { inner }),
    ...(toolUse && { toolUse }),
    ...(deadline && { deadline }),
  };
  draft.change({
    type: 'permission.ask',
    fact: draft.fact('permission.requested', question),
    permission: {
      id: permission,
      tree: agent.tree,
      agent: agent.id,
      run: record.run,
      owner: agent.owner,
      requestId,
      at,
      question: JSON.stringify(question),
    },
  });
}

/** Why nobody need be asked; questions and plans always are. */
function standingRule(draft: Draft, { kind, tool, input }: PermissionRequested): string | undefined {
  const { record } = draft;
  if (kind !== 'tool') return undefined;
  const same = rememberedFor(tool, input);
  const holds = ({ run }: Remembered) => run === undefined || run === record.run;
  if (record.remembered.some((one) => one.tool === tool && one.input === same.input && holds(one))) {
    return 'remembered';
  }
  return modeOf(draft) === 'bypass' ? 'bypass' : undefined;
}

/** What is remembered of an answer: the very tool with the very input. */
export function rememberedFor(tool: string, input: ToolInput): Remembered {
  return { tool, input: digest(canonical(input)) };
}

/** Settles an open permission with the answer for the CLI. */
export function answered(
  draft: Draft,
  requestId: string,
  decision: PermissionDecision,
  resolved: PermissionResolved,
) {
  const { inner } = draft.record.asks[requestId] ?? {};
  settle(draft, requestId, resolved);
  const interrupts = decision.behavior === 'deny' && decision.interrupt;
  // A subagent's question ends the subagent only (seen on both CLIs).
  if (interrupts && draft.turn && !inner) draft.turn.interrupting = 'sent';
  draft.record.answered.push(requestId);
  draft.write('answer', answerLine(requestId, decision), requestId);
}

/** Denies what nobody has answered in time; the turn goes on. */
export function expireOverdue(draft: Draft): void {
  for (const [requestId, { permission, deadline }] of Object.entries(draft.record.asks)) {
    if (deadline === undefined || deadline > draft.at) continue;
    const message = `Nobody answered within ${draft.agent.task.limits?.permissionMinutes} minutes.`;
    const resolved = { permission, outcome: 'expired', by: 'gateway', message } as const;
    answered(draft, requestId, { behavior: 'deny', message }, resolved);
  }
}

/** The CLI takes a question back. If it was answered already, the two crossed: answered isn't done. */
export function withdrawn(draft: Draft, requestId: string): void {
  const { asks, answered, run, calls } = draft.record;
  const open = asks[requestId];
  if (open) {
    // Nobody allowed it, so it can't have had an effect.
    if (open.toolUse) delete calls[open.toolUse];
    return settle(draft, requestId, { permission: open.permission, outcome: 'withdrawn' });
  }
  if (!answered.includes(requestId)) return;
  draft.record.answered = answered.filter((id) => id !== requestId);
  draft.fact('permission.voided', { permission: permissionId(draft.agent.id, run, requestId) });
}

/** A turn's questions die with it; those of subagents in the background live on with their task. */
export function withdrawTurn(draft: Draft): void {
  const { asks, tasks } = draft.record;
  for (const [requestId, { inner }] of Object.entries(asks)) {
    if (!inner || !tasks[inner]) withdrawn(draft, requestId);
  }
}

export function withdrawTask(draft: Draft, task: string): void {
  for (const [requestId, { inner }] of Object.entries(draft.record.asks)) {
    if (inner === task) withdrawn(draft, requestId);
  }
}

export function withdrawAll(draft: Draft): void {
  for (const requestId of Object.keys(draft.record.asks)) withdrawn(draft, requestId);
}

function settle(draft: Draft, requestId: string, resolved: PermissionResolved): void {
  delete draft.record.asks[requestId];
  draft.fact('permission.resolved', resolved);
  draft.change({ type: 'permission.settle', id: resolved.permission, settled: JSON.stringify(resolved) });
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function isObject(value: unknown): value is ToolInput {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
