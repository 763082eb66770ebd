import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { keyLifeMs, limits } from '../protocol/limits.ts';
import { applyChange, type Statements } from './changes.ts';
import {
  type AgentFilter,
  type Commit,
  CommitRefused,
  type Journal,
  JournalUnavailable,
  type NewFact,
  type RunRef,
  type Scope,
  type StoredFact,
  type Verdict,
} from './journal.ts';
import {
  agentRow,
  contentRow,
  inputLine,
  keptKey,
  permissionRow,
  readPage,
  runRow,
  scopeClause,
} from './rows.ts';
import { tables } from './tables.ts';

export type SqliteOptions = {
  /** `full` survives a power cut; `normal` (default) any kill. */
  sync?: 'normal' | 'full';
  now?: () => number;
};

/** The journal on one SQLite file in WAL mode. One process at a time: the data directory's lock sees to that. */
export class SqliteJournal implements Journal {
  readonly epoch = randomBytes(9).toString('base64url');
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #now: () => number;
  #head: number;
  /** A large fact is read slice by slice; facts never change. */
  #lastFact: { seq: number; fact: { tree: string; owner: string; data: string } } | undefined;
  #problem: string | undefined;

  constructor(file: string, { sync = 'normal', now = Date.now }: SqliteOptions = {}) {
    this.#now = now;
    makePrivate(file);
    this.#db = new DatabaseSync(file);
    this.#db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${sync}; PRAGMA wal_autocheckpoint = 2000;`,
    );
    this.#db.exec(tables);
    this.#head = Number(this.#one('SELECT seq FROM sqlite_sequence WHERE name = ?', 'facts')?.seq ?? 0);
    this.#run('UPDATE epochs SET last = ? WHERE last IS NULL', this.#head);
    this.#run('INSERT INTO epochs (id, began) VALUES (?, ?)', this.epoch, now());
  }

  get head(): number {
    return this.#head;
  }

  get problem(): string | undefined {
    if (this.#problem !== undefined) {
      try {
        this.#transact(() => this.#writeNothing());
      } catch (error) {
        if (!(error instanceof JournalUnavailable)) throw error;
      }
    }
    return this.#problem;
  }

  async commit(commit: Commit): Promise<StoredFact[]> {
    const facts = this.#transact(() => this.#carryOut(commit));
    this.#head = facts.at(-1)?.seq ?? this.#head;
    return facts;
  }

  /** Changes a page and changes it back: SQLite leaves out a write that changes nothing. */
  #writeNothing(): void {
    for (const last of [0, null]) this.#run('UPDATE epochs SET last = ? WHERE id = ?', last, this.epoch);
  }

  #transact<T>(work: () => T): T {
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      const outcome = work();
      this.#db.exec('COMMIT');
      this.#problem = undefined;
      return outcome;
    } catch (error) {
      this.#rollBack();
      const cause = translated(error);
      if (cause instanceof JournalUnavailable)
        this.#problem = `the journal can't be written: ${cause.message}`;
      throw cause;
    }
  }

  #carryOut(commit: Commit): StoredFact[] {
    if (commit.run) this.#advance(commit.run, commit.offsets);
    const commitTo = this.#head + commit.facts.length;
    const facts = commit.facts.map((fact) => this.#append(fact, commitTo));
    const seqs = facts.map(({ seq }) => seq);
    for (const change of commit.changes) applyChange(this.#sql, change, seqs);
    return facts;
  }

  #append({ tree, data, ...rest }: NewFact, commitTo: number): StoredFact {
    const head = JSON.stringify(rest).slice(1, -1);
    const large = Buffer.byteLength(data) > limits.maxEventBytes;
    const { lastInsertRowid } = this.#run(
      'INSERT INTO facts (tree, head, data, size, large, commit_to) VALUES (?, ?, ?, ?, ?, ?)',
      tree,
      head,
      data,
      data.length,
      Number(large),
      commitTo,
    );
    return { seq: Number(lastInsertRowid), tree, head, data: large ? null : data, size: data.length };
  }

  /** First of all, as the same commit may close the run that it acts for. */
  #advance({ agent, run }: RunRef, offsets: Commit['offsets']): void {
    const row = this.#one('SELECT facts_to FROM runs WHERE agent = ? AND run = ? AND open = 1', agent, run);
    if (!row) throw new CommitRefused('run_closed', `${agent} run ${run}`);
    if (!offsets) return;
    if (row.facts_to !== offsets.expect) throw new CommitRefused('stale', `${agent} run ${run} offsets`);
    this.#run(
      'UPDATE runs SET facts_to = ?, text_from = ? WHERE agent = ? AND run = ?',
      offsets.factsTo,
      offsets.textFrom,
      agent,
      run,
    );
  }

  async judge(cursor: { epoch: string; seq: number }): Promise<Verdict> {
    const row = this.#one('SELECT last FROM epochs WHERE id = ?', cursor.epoch);
    if (!row) return { verdict: 'reset', reason: 'epoch' };
    if (cursor.seq > Number(row.last ?? this.#head)) return { verdict: 'reset', reason: 'ahead' };
    return { verdict: 'ok' };
  }

  async read(scope: Scope, after: number, maxBytes: number) {
    const { where, values } = scopeClause(scope, 'tree');
    const rows = this.#prepare(
      `SELECT seq, tree, head, size, commit_to, CASE large WHEN 1 THEN NULL ELSE data END AS data
       FROM facts WHERE seq > ? AND ${where} ORDER BY seq`,
    ).iterate(after, ...values);
    return readPage(rows, this.#head, maxBytes);
  }

  async fact(seq: number) {
    if (this.#lastFact?.seq === seq) return this.#lastFact.fact;
    const row = this.#one(
      'SELECT f.tree, f.data, a.owner FROM facts f JOIN agents a ON a.id = f.tree WHERE f.seq = ?',
      seq,
    );
    const fact = row && { tree: String(row.tree), owner: String(row.owner), data: String(row.data) };
    this.#lastFact = fact && { seq, fact };
    return fact;
  }

  async agent(id: string) {
    const row = this.#one('SELECT * FROM agents WHERE id = ?', id);
    return row && agentRow(row);
  }

  async snapshot(scope: Scope, { live } = { live: false }) {
    const { where, values } = scopeClause(scope, 'tree');
    const working = `tree IN (SELECT a.tree FROM runs r JOIN agents a ON a.id = r.agent WHERE r.open = 1
      UNION SELECT tree FROM agents WHERE state = 'queued')`;
    const agents = this.#all(
      `SELECT * FROM agents WHERE ${where} ${live ? `AND ${working}` : ''} ORDER BY seq`,
      ...values,
    );
    const permissions = this.#all(
      `SELECT * FROM permissions WHERE settled IS NULL AND ${where} ORDER BY seq`,
      ...values,
    );
    const contents = this.#all(
      `SELECT c.* FROM contents c JOIN agents a ON a.id = c.agent WHERE c.seq IS NOT NULL AND ${where} ORDER BY c.seq`,
      ...values,
    );
    return {
      seq: this.#head,
      agents: agents.map(agentRow),
      permissions: permissions.map(permissionRow),
      contents: contents.map(contentRow),
    };
  }

  async agents(scope: Scope, filter: AgentFilter, page: { limit: number; before?: number | undefined }) {
    const { where, values } = scopeClause(scope, 'tree');
    return this.#all(
      `SELECT * FROM agents WHERE seq < ? AND ${where} AND parent IS coalesce(?, parent)
       AND (? IS NULL OR state IN (SELECT value FROM json_each(?))) ORDER BY seq DESC LIMIT ?`,
      page.before ?? Number.MAX_SAFE_INTEGER,
      ...values,
      filter.parent ?? null,
      ...Array<string | null>(2).fill(filter.states ? JSON.stringify(filter.states) : null),
      page.limit,
    ).map(agentRow);
  }

  async sentUuids({ agent, run }: RunRef, limit: number) {
    const rows = this.#all(
      `SELECT ref FROM inputs WHERE agent = ? AND run = ? AND kind = 'user' ORDER BY begins DESC LIMIT ?`,
      agent,
      run,
      limit,
    );
    return rows.map(({ ref }) => String(ref));
  }

  async permission(id: string) {
    const row = this.#one('SELECT * FROM permissions WHERE id = ?', id);
    return row && permissionRow(row);
  }

  async permissions(scope: Scope, limit: number, before = Number.MAX_SAFE_INTEGER) {
    const { where, values } = scopeClause(scope, 'tree');
    return this.#all(
      `SELECT * FROM permissions WHERE settled IS NULL AND seq < ? AND ${where} ORDER BY seq DESC LIMIT ?`,
      before,
      ...values,
      limit,
    ).map(permissionRow);
  }

  async key(owner: string, method: string, key: string) {
    const row = this.#one(
      'SELECT * FROM keys WHERE owner = ? AND method = ? AND key = ? AND at > ?',
      owner,
      method,
      key,
      this.#now() - keyLifeMs,
    );
    return row && keptKey(row);
  }

  async content(agent: string, id: string) {
    return this.#one('SELECT content FROM contents WHERE agent = ? AND id = ?', agent, id)?.content as
      | string
      | undefined;
  }

  async run({ agent, run }: RunRef) {
    const row = this.#one('SELECT * FROM runs WHERE agent = ? AND run = ?', agent, run);
    return row && runRow(row);
  }

  async openRuns() {
    return this.#all('SELECT * FROM runs WHERE open = 1 ORDER BY agent, run').map(runRow);
  }

  async inputs({ agent, run }: RunRef, after: number) {
    return this.#all(
      'SELECT * FROM inputs WHERE agent = ? AND run = ? AND ends > ? ORDER BY begins',
      agent,
      run,
      after,
    ).map(inputLine);
  }

  close(): void {
    if (!this.#db.isOpen) return;
    try {
      this.#run('UPDATE epochs SET last = ? WHERE id = ?', this.#head, this.epoch);
    } catch (error) {
      // The next start writes it; a full disk must not keep us from closing.
      if (!(translated(error) instanceof JournalUnavailable)) throw error;
    } finally {
      this.#db.close();
    }
  }

  #rollBack(): void {
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #run(sql: string, ...values: SQLInputValue[]) {
    return this.#prepare(sql).run(...values);
  }

  #one(sql: string, ...values: SQLInputValue[]) {
    return this.#prepare(sql).get(...values);
  }

  #all(sql: string, ...values: SQLInputValue[]) {
    return this.#prepare(sql).all(...values);
  }

  readonly #sql: Statements = {
    run: (sql, ...values) => Number(this.#run(sql, ...values).changes),
    get: (sql, ...values) => this.#one(sql, ...values),
  };
}

/** Prompts and tool inputs are nobody else's business; the files beside it take over its mode. */
function makePrivate(file: string): void {
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
}

/** SQLite's primary result codes that mean "not now": IOERR, FULL, BUSY, READONLY, CANTOPEN, NOMEM. */
const unavailable = new Set([5, 7, 8, 10, 13, 14]);

function translated(error: unknown): unknown {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  return unavailable.has(code) ? new JournalUnavailable((error as Error).message, { cause: error }) : error;
}
