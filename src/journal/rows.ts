import type { SQLInputValue } from 'node:sqlite';
import type { AgentStateName } from '../protocol/agent.ts';
import type {
  AgentRow,
  ContentRow,
  InputKind,
  InputLine,
  KeptKey,
  Page,
  PermissionRow,
  RunRow,
  Scope,
  StoredFact,
} from './journal.ts';

type Row = Record<string, unknown>;

/** SQL for a scope over a column that holds a tree's id. */
export function scopeClause(scope: Scope, column: string): { where: string; values: SQLInputValue[] } {
  if ('tree' in scope) return { where: `${column} = ?`, values: [scope.tree] };
  const parts = ['1'];
  const values: SQLInputValue[] = [];
  if (scope.owner !== undefined) {
    parts.push(`${column} IN (SELECT id FROM agents WHERE owner = ? AND id = tree)`);
    values.push(scope.owner);
  }
  if (scope.except && scope.except.length > 0) {
    // A list of any length in one parameter, so that the statement stays the same.
    parts.push(`${column} NOT IN (SELECT value FROM json_each(?))`);
    values.push(JSON.stringify(scope.except));
  }
  return { where: parts.join(' AND '), values };
}

/** Takes rows until about `maxBytes` are reached and the commit that was begun is whole (of several trees, maybe). */
export function readPage(rows: Iterable<Row>, head: number, maxBytes: number): Page {
  const facts: StoredFact[] = [];
  let bytes = 0;
  let through = 0;
  for (const row of rows) {
    if (bytes >= maxBytes && row.commit_to !== through) return { facts, through, atHead: false };
    through = Number(row.commit_to);
    const data = row.data as string | null;
    const fact = {
      seq: Number(row.seq),
      tree: String(row.tree),
      head: String(row.head),
      data,
      size: Number(row.size),
    };
    facts.push(fact);
    bytes += fact.head.length + (data?.length ?? 0);
  }
  return { facts, through: head, atHead: true };
}

export function agentRow(row: Row): AgentRow {
  return {
    id: String(row.id),
    tree: String(row.tree),
    ...(row.parent !== null && { parent: String(row.parent) }),
    owner: String(row.owner),
    createdAt: Number(row.created),
    seq: Number(row.seq),
    state: row.state as AgentStateName,
    version: Number(row.version),
    task: String(row.task),
    record: String(row.record),
    ...(row.result !== null && { result: { json: String(row.result), seq: Number(row.result_seq) } }),
  };
}

export function runRow(row: Row): RunRow {
  return {
    agent: String(row.agent),
    run: Number(row.run),
    marker: String(row.marker),
    factsTo: Number(row.facts_to),
    textFrom: Number(row.text_from),
    inputTo: Number(row.input_to),
  };
}

export function permissionRow(row: Row): PermissionRow {
  return {
    id: String(row.id),
    tree: String(row.tree),
    agent: String(row.agent),
    run: Number(row.run),
    owner: String(row.owner),
    requestId: String(row.request),
    seq: Number(row.seq),
    at: Number(row.at),
    question: String(row.question),
    ...(row.settled !== null && { settled: String(row.settled) }),
  };
}

export function contentRow(row: Row): ContentRow {
  return { agent: String(row.agent), id: String(row.id), content: String(row.content), seq: Number(row.seq) };
}

export function inputLine(row: Row): InputLine {
  return {
    kind: row.kind as InputKind,
    ...(row.ref !== null && { ref: String(row.ref) }),
    from: Number(row.begins),
    to: Number(row.ends),
    bytes: row.bytes as Uint8Array,
  };
}

export function keptKey(row: Row): KeptKey {
  return {
    owner: String(row.owner),
    method: String(row.method),
    key: String(row.key),
    params: String(row.params),
    outcome: String(row.outcome),
    at: Number(row.at),
  };
}
