import type { Change, Commit, RunRow } from '../journal/journal.ts';
import type { Content } from '../protocol/content.ts';
import type { Draft } from './draft.ts';
import { openRun } from './resume.ts';
import { taskView } from './task.ts';
import { holdOwnMessage } from './turns.ts';

/** The first step of an agent. With a position it stands in line; else its first run is opened. */
export function create(
  draft: Draft,
  prompt: Content | undefined,
  { position }: { position?: number },
): RunRow | undefined {
  const { path, task } = draft.agent;
  draft.fact('agent.created', { path, ...(task.name && { name: task.name }), task: taskView(task) });
  const opening = prompt === undefined ? undefined : holdOwnMessage(draft, prompt);
  if (position === undefined) return openRun(draft, opening);
  draft.fact('agent.state', { state: 'queued', position });
  return undefined;
}

/** The commit of that step: the agent is there before anything of it. */
export function creation(draft: Draft, more: Change[]): Commit {
  const { agent, record, at } = draft;
  const commit = draft.commit(more);
  const row = {
    id: agent.id,
    tree: agent.tree,
    owner: agent.owner,
    createdAt: at,
    state: record.state.is,
    task: JSON.stringify(agent.task),
    record: JSON.stringify(record),
  };
  return { ...commit, changes: [{ type: 'agent.create', fact: 0, agent: row }, ...commit.changes] };
}
