import { createHash } from 'node:crypto';
import type { Ask } from '../claude/lines.ts';
import { answerLine, type PermissionDecision } from '../claude/stdin.ts';
import type {
  PermissionKind,
  PermissionRequested,
  PermissionResolved,
  ToolInput,
} from '../protocol/permission.ts';
import type { Draft } from './draft.ts';

/** The same question of the same run has the same id, so that reading a line twice asks once. */
export function permissionId(agent: string, run: number, requestId: string): string {
  return `perm_${createHash('sha256').update(`${agent}/${run}/${requestId}`).digest('base64url').slice(0, 24)}`;
}

const kinds: Record<string, PermissionKind> = { AskUserQuestion: 'question', ExitPlanMode: 'plan' };

/** The CLI's `can_use_tool` becomes a stored permission. */
export function asked(draft: Draft, ask: Ask): void {
  const { agent, record } = draft;
  if (record.asks[ask.requestId]) return;
  const permission = permissionId(agent.id, record.run, ask.requestId);
  const data: PermissionRequested = {
    permission,
    path: agent.path,
    kind: kinds[ask.tool] ?? 'tool',
    tool: ask.tool,
    input: isObject(ask.input) ? ask.input : {},
    suggestions: ask.suggestions,
    ...(ask.toolUse && { toolUse: ask.toolUse }),
    ...(ask.inner && { inner: ask.inner }),
    ...(ask.description && { description: ask.description }),
  };
  record.asks[ask.requestId] = { permission, ...(ask.inner && { inner: true }) };
  draft.change({
    type: 'permission.ask',
    fact: draft.fact('permission.requested', data),
    permission: {
      id: permission,
      tree: agent.tree,
      agent: agent.id,
      run: record.run,
      owner: agent.owner,
      requestId: ask.requestId,
      at: draft.at,
      question: JSON.stringify(data),
    },
  });
}

/** Settles an open permission with the answer for the CLI. */
export function answered(
  draft: Draft,
  requestId: string,
  decision: PermissionDecision,
  resolved: PermissionResolved,
) {
  settle(draft, requestId, resolved);
  if (decision.behavior === 'deny' && decision.interrupt && draft.turn) draft.turn.interrupting = true;
  draft.record.answered.push(requestId);
  draft.write('answer', answerLine(requestId, decision), requestId);
}

/** The CLI takes a question back. If it was answered already, the two crossed: answered isn't done. */
export function withdrawn(draft: Draft, requestId: string): void {
  const open = draft.record.asks[requestId];
  if (open) return settle(draft, requestId, { permission: open.permission, outcome: 'withdrawn' });
  if (!draft.record.answered.includes(requestId)) return;
  draft.record.answered = draft.record.answered.filter((id) => id !== requestId);
  draft.fact('permission.voided', { permission: permissionId(draft.agent.id, draft.record.run, requestId) });
}

/** A turn's questions die with it; those of subagents in the background live on. */
export function withdrawTurn(draft: Draft): void {
  for (const [requestId, { inner }] of Object.entries(draft.record.asks)) {
    if (!inner) withdrawn(draft, requestId);
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

function isObject(value: unknown): value is ToolInput {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
