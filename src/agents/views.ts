import type { AgentRow, ContentRow, PermissionRow, Snapshot as Rows } from '../journal/journal.ts';
import type { AgentResult, AgentResultView, AgentView, Waiting } from '../protocol/agent.ts';
import type { Content } from '../protocol/content.ts';
import { limits } from '../protocol/limits.ts';
import type { PermissionRequested, PermissionView } from '../protocol/permission.ts';
import type { QueuedMessage, Snapshot } from '../protocol/subscription.ts';
import { type AgentRecord, costOf } from './record.ts';
import { isEnded, isOver, openTurn } from './state.ts';
import { type StoredTask, taskView } from './task.ts';

/** What clients see of whole trees. */
export function snapshotView(read: Rows, positionOf: PositionOf): Snapshot {
  const rows = new Map(read.agents.map((row) => [row.id, row]));
  const children = Map.groupBy(read.agents, (row) => row.parent ?? '');
  const asking = Map.groupBy(read.permissions, (row) => row.agent);
  const agents = read.agents.map((row) =>
    agentView(row, {
      path: pathOf(row, rows),
      children: (children.get(row.id) ?? []).map(({ id }) => id),
      asking: asking.get(row.id) ?? [],
      position: positionOf(row.id),
    }),
  );
  const queued = queuedViews(read.agents, read.contents);
  return { seq: read.seq, agents, permissions: read.permissions.map(permissionView), queued };
}

/** The messages that wait for their turn, each with its place in its agent's line. */
function queuedViews(agents: AgentRow[], contents: ContentRow[]): QueuedMessage[] {
  const held = new Map(contents.map((row) => [row.id, row]));
  return agents.flatMap((row) => {
    const { messages } = JSON.parse(row.record) as AgentRecord;
    return messages
      .filter(({ sent, own }) => !sent && !own)
      .flatMap(({ id, from }, index) => {
        const { content, seq } = held.get(id) ?? {};
        if (content === undefined || seq === undefined) return [];
        const size = content.length > limits.maxEventBytes ? content.length : 0;
        const shown = size > 0 ? { content: null, size } : { content: JSON.parse(content) as Content };
        return [{ agent: row.id, id, from, ...shown, seq, position: index + 1 }];
      });
  });
}

/** 1-based place in the line of those that wait to begin. */
export type PositionOf = (agent: string) => number | undefined;

type Kin = { path: string[]; children: string[]; asking: PermissionRow[]; position: number | undefined };

function agentView(row: AgentRow, { path, children, asking, position }: Kin): AgentView {
  const record = JSON.parse(row.record) as AgentRecord;
  const task = JSON.parse(row.task) as StoredTask;
  const { state } = record;
  const turn = openTurn(state)?.number ?? (record.turns || undefined);
  const spending = { usage: record.usage, costUsd: costOf(record), ...(record.atLeast && { atLeast: true }) };
  return {
    id: row.id,
    tree: row.tree,
    ...(row.parent && { parent: row.parent }),
    children,
    path,
    ...(task.name && { name: task.name }),
    task: taskView(task, row.seq),
    state: state.is,
    ...(isEnded(state) && toldOf(state)),
    run: record.run,
    ...(turn && { turn }),
    ...(asking.length > 0 && { waiting: waitingOf(asking, record) }),
    ...(position !== undefined && {
      position,
      waiting: { for: 'place' as const, ids: [], since: row.createdAt },
    }),
    ...spending,
    subtree: { agents: 1, ...spending },
  };
}

function waitingOf(asking: PermissionRow[], { asks }: AgentRecord): Waiting {
  const until = Math.min(...Object.values(asks).map(({ deadline = Number.POSITIVE_INFINITY }) => deadline));
  return {
    for: 'human',
    ids: asking.map(({ id }) => id),
    since: Math.min(...asking.map(({ at }) => at)),
    ...(until < Number.POSITIVE_INFINITY && { until }),
  };
}

function toldOf(ended: Extract<AgentRecord['state'], { is: string }>) {
  const { reason, detail, exitCode, resuming } = ended as Partial<AgentView>;
  return {
    ...(reason && { reason }),
    ...(detail && { detail }),
    ...(exitCode !== undefined && { exitCode }),
    ...(resuming !== undefined && { resuming }),
  };
}

function pathOf(row: AgentRow, rows: ReadonlyMap<string, AgentRow>): string[] {
  const parent = row.parent && rows.get(row.parent);
  return parent ? [...pathOf(parent, rows), row.id] : [row.id];
}

/** A large input is left out; `event.get` of its seq has it. */
export function permissionView(row: PermissionRow): PermissionView {
  const question = JSON.parse(row.question) as PermissionRequested;
  const size = row.question.length > limits.maxEventBytes ? row.question.length : 0;
  return {
    ...question,
    ...(size > 0 && { input: null, size }),
    seq: row.seq,
    agent: row.agent,
    at: row.at,
  };
}

/** None while the agent works, again or for the first time. */
export function resultView({ id, result, record }: AgentRow): AgentResultView | undefined {
  const { state } = JSON.parse(record) as AgentRecord;
  if (!result || !isOver(state)) return undefined;
  const told = JSON.parse(result.json) as AgentResult;
  const size = result.json.length > limits.maxEventBytes ? result.json.length : 0;
  return { agent: id, seq: result.seq, ...told, ...(size > 0 && { text: null, size }) };
}
