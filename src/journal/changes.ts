import type { SQLInputValue } from 'node:sqlite';
import { keyLifeMs } from '../protocol/limits.ts';
import { type Change, CommitRefused } from './journal.ts';

/** What a change needs of the open transaction. `run` gives the number of changed rows. */
export type Statements = {
  run(sql: string, ...values: SQLInputValue[]): number;
  get(sql: string, ...values: SQLInputValue[]): Record<string, unknown> | undefined;
};

/** Carries out one change with its guard. `seqs` are those of the commit's facts, in order. */
export function applyChange(sql: Statements, change: Change, seqs: readonly number[]): void {
  switch (change.type) {
    case 'agent.create':
      return createAgent(sql, change.agent, seqOf(change.fact, seqs));
    case 'agent.update':
      return updateAgent(sql, change, seqs);
    case 'run.open':
      sql.run(
        'INSERT INTO runs VALUES (?, ?, ?, 0, 0, 0, 1)',
        change.run.agent,
        change.run.run,
        change.marker,
      );
      return;
    case 'run.close':
      return closeRun(sql, change);
    case 'input.place':
      return placeInput(sql, change);
    case 'input.drop':
      return dropInput(sql, change);
    case 'content.keep':
      return keepContent(sql, change, seqs);
    case 'content.forget':
      sql.run(
        'DELETE FROM contents WHERE agent = ? AND id = coalesce(?, id)',
        change.agent,
        change.id ?? null,
      );
      return;
    case 'permission.ask':
      return askPermission(sql, change.permission, seqOf(change.fact, seqs));
    case 'permission.settle':
      return settlePermission(sql, change);
    case 'key.keep':
      return keepKey(sql, change.key);
    default:
      change satisfies never;
  }
}

function seqOf(fact: number, seqs: readonly number[]): number {
  const seq = seqs[fact];
  if (seq === undefined) throw new CommitRefused('unknown', `the commit has no fact ${fact}`);
  return seq;
}

type Of<T extends Change['type']> = Extract<Change, { type: T }>;

function createAgent(sql: Statements, agent: Of<'agent.create'>['agent'], seq: number): void {
  sql.run(
    `INSERT INTO agents (id, tree, parent, owner, created, seq, state, version, task, record)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
    agent.id,
    agent.tree,
    agent.parent ?? null,
    agent.owner,
    agent.createdAt,
    seq,
    agent.state,
    agent.task,
    agent.record,
  );
}

function updateAgent(sql: Statements, change: Of<'agent.update'>, seqs: readonly number[]): void {
  const { agent, version, state, record, result } = change;
  const changed = sql.run(
    `UPDATE agents SET version = version + 1, state = ?, record = ?, result = coalesce(?, result),
       result_seq = coalesce(?, result_seq)
     WHERE id = ? AND version = ?`,
    state,
    record,
    result?.json ?? null,
    result ? seqOf(result.fact, seqs) : null,
    agent,
    version,
  );
  if (changed !== 1) throw new CommitRefused('stale', `agent ${agent} version ${version}`);
}

function closeRun(sql: Statements, { run }: Of<'run.close'>): void {
  const changed = sql.run(
    'UPDATE runs SET open = 0 WHERE agent = ? AND run = ? AND open = 1',
    run.agent,
    run.run,
  );
  if (changed !== 1) throw new CommitRefused('run_closed', `${run.agent} run ${run.run}`);
  sql.run('DELETE FROM inputs WHERE agent = ? AND run = ?', run.agent, run.run);
}

function placeInput(sql: Statements, { run, lines }: Of<'input.place'>): void {
  const row = sql.get(
    'SELECT input_to FROM runs WHERE agent = ? AND run = ? AND open = 1',
    run.agent,
    run.run,
  );
  if (!row) throw new CommitRefused('run_closed', `${run.agent} run ${run.run}`);
  let end = Number(row.input_to);
  for (const line of lines) {
    if (line.from !== end || line.to !== line.from + line.bytes.length) {
      throw new CommitRefused('misplaced', `input at ${line.from}, expected ${end}`);
    }
    sql.run(
      'INSERT INTO inputs (agent, run, begins, ends, kind, ref, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)',
      run.agent,
      run.run,
      line.from,
      line.to,
      line.kind,
      line.ref ?? null,
      line.bytes,
    );
    end = line.to;
  }
  sql.run('UPDATE runs SET input_to = ? WHERE agent = ? AND run = ?', end, run.agent, run.run);
}

function dropInput(sql: Statements, { run, from }: Of<'input.drop'>): void {
  const place = [run.agent, run.run] as const;
  const row = sql.get('SELECT ends FROM inputs WHERE agent = ? AND run = ? AND begins = ?', ...place, from);
  if (!row) throw new CommitRefused('misplaced', `no input line at ${from}`);
  const length = Number(row.ends) - from;
  sql.run('DELETE FROM inputs WHERE agent = ? AND run = ? AND begins = ?', ...place, from);
  // Two steps over negative places, as rows moving up one by one would collide with their neighbours' keys.
  sql.run('UPDATE inputs SET begins = -begins WHERE agent = ? AND run = ? AND begins > ?', ...place, from);
  sql.run(
    'UPDATE inputs SET begins = -begins - ?, ends = ends - ? WHERE agent = ? AND run = ? AND begins < 0',
    length,
    length,
    ...place,
  );
  sql.run('UPDATE runs SET input_to = input_to - ? WHERE agent = ? AND run = ?', length, ...place);
}

function keepContent(sql: Statements, change: Of<'content.keep'>, seqs: readonly number[]): void {
  const { agent, id, content, fact } = change;
  const seq = fact === undefined ? null : seqOf(fact, seqs);
  sql.run(
    'INSERT OR REPLACE INTO contents (agent, id, content, seq) VALUES (?, ?, ?, ?)',
    agent,
    id,
    content,
    seq,
  );
}

function askPermission(sql: Statements, asked: Of<'permission.ask'>['permission'], seq: number): void {
  sql.run(
    'INSERT INTO permissions (id, tree, agent, run, owner, request, seq, at, question) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    asked.id,
    asked.tree,
    asked.agent,
    asked.run,
    asked.owner,
    asked.requestId,
    seq,
    asked.at,
    asked.question,
  );
}

function settlePermission(sql: Statements, { id, settled }: Of<'permission.settle'>): void {
  const changed = sql.run('UPDATE permissions SET settled = ? WHERE id = ? AND settled IS NULL', settled, id);
  if (changed !== 1) throw new CommitRefused('settled', `permission ${id}`);
}

function keepKey(sql: Statements, { owner, method, key, params, outcome, at }: Of<'key.keep'>['key']): void {
  sql.run('DELETE FROM keys WHERE at <= ?', at - keyLifeMs);
  const added = sql.run(
    'INSERT OR IGNORE INTO keys (owner, method, key, params, outcome, at) VALUES (?, ?, ?, ?, ?, ?)',
    owner,
    method,
    key,
    params,
    outcome,
    at,
  );
  if (added !== 1) throw new CommitRefused('key_taken', `${method} ${key}`);
}
