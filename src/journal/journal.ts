/**
 * The journal: the durable log of facts and the tables beside it. This interface is a seam: a commit is
 * *data*, carried out as a whole or refused as a whole, so that another engine can stand behind it.
 */
import type { AgentStateName } from '../protocol/agent.ts';

export type RunRef = { agent: string; run: number };

/** A fact before it has its number. `data` is JSON text, kept verbatim. */
export type NewFact = {
  tree: string;
  agent: string;
  /** Epoch milliseconds. */
  at: number;
  turn?: number;
  message?: string;
  block?: number;
  type: string;
  data: string;
};

/** A fact as read back: everything of its event but `data`, which is null where it is over the event limit. */
export type StoredFact = {
  seq: number;
  tree: string;
  /** The event's JSON without seq and data, without its braces: `"at":1,"agent":"a","type":"message"`. */
  head: string;
  data: string | null;
  /** Length of the data's JSON in UTF-16 units. */
  size: number;
};

/** One line for the CLI's stdin with its place [from, to) in `in.ndjson`, newline included. */
export type InputLine = { kind: InputKind; ref?: string; from: number; to: number; bytes: Uint8Array };
export type InputKind = 'initialize' | 'user' | 'answer' | 'interrupt' | 'configure' | 'refusal' | 'end';

export type AgentRow = {
  id: string;
  tree: string;
  parent?: string;
  owner: string;
  createdAt: number;
  /** Seq of the first fact of the commit that created it. */
  seq: number;
  state: AgentStateName;
  version: number;
  /** JSON of what was asked; written once. */
  task: string;
  /** JSON of what changes; small. */
  record: string;
  /** JSON of the agent's result and the seq of its fact, once it has ended. */
  result?: { json: string; seq: number };
};

export type RunRow = RunRef & {
  /** Random word by which the run's processes are known (environment `SPAWNGATE_RUN`). */
  marker: string;
  /** All lines before this byte of `out.ndjson` are facts. */
  factsTo: number;
  /** First byte of the first line of the oldest unfinished message; at most `factsTo`. */
  textFrom: number;
  /** End of the last placed input line. */
  inputTo: number;
};

export type PermissionRow = {
  id: string;
  tree: string;
  agent: string;
  run: number;
  owner: string;
  requestId: string;
  /** Seq of its `permission.requested`. */
  seq: number;
  at: number;
  /** JSON of the question as clients see it. */
  question: string;
  /** JSON of how it was settled; absent while it is open. */
  settled?: string;
};

/** Contents that are shown while they wait, with the seq of the fact that told of them. */
export type ContentRow = { agent: string; id: string; content: string; seq: number };

export type Snapshot = {
  seq: number;
  agents: AgentRow[];
  permissions: PermissionRow[];
  contents: ContentRow[];
};

export type AgentFilter = { parent?: string | undefined; states?: readonly AgentStateName[] | undefined };

export type KeptKey = {
  owner: string;
  method: string;
  key: string;
  /** Digest of the parameters. */
  params: string;
  outcome: string;
  at: number;
};

export type Change =
  /** `fact`: index of its first fact among those of the commit. */
  | { type: 'agent.create'; fact: number; agent: Omit<AgentRow, 'seq' | 'version' | 'result'> }
  | {
      type: 'agent.update';
      agent: string;
      /** The version it was decided on; another one refuses the commit (`stale`). */
      version: number;
      state: AgentStateName;
      record: string;
      /** `fact`: index of its `agent.result` among those of the commit. */
      result?: { json: string; fact: number };
    }
  | { type: 'run.open'; run: RunRef; marker: string }
  /** The run's processes are gone and its output is read: its lines and contents are no longer needed. */
  | { type: 'run.close'; run: RunRef }
  /** Lines must begin where the last placed one ends (`misplaced`). */
  | { type: 'input.place'; run: RunRef; lines: InputLine[] }
  /** Takes out one line that no byte was written of; those behind it move up. */
  | { type: 'input.drop'; run: RunRef; from: number }
  /** `fact`: index of the fact that told of it, for contents that are shown while they wait. */
  | { type: 'content.keep'; agent: string; id: string; content: string; fact?: number }
  /** All of the agent's, if no id is named. */
  | { type: 'content.forget'; agent: string; id?: string }
  /** `fact`: index of its `permission.requested` among the commit's facts. */
  | { type: 'permission.ask'; fact: number; permission: Omit<PermissionRow, 'seq' | 'settled'> }
  /** Refused (`settled`) unless it is open. */
  | { type: 'permission.settle'; id: string; settled: string }
  /** Refused (`key_taken`) if the key is there. */
  | { type: 'key.keep'; key: KeptKey };

export type Commit = {
  /** The run that the commit acts for: refused (`run_closed`) if it isn't open. */
  run?: RunRef;
  /** Compare-and-set of the run's offsets: refused (`stale`) unless `factsTo` is `expect`. */
  offsets?: { expect: number; factsTo: number; textFrom: number };
  facts: NewFact[];
  changes: Change[];
};

export type Rule = 'run_closed' | 'stale' | 'misplaced' | 'settled' | 'key_taken' | 'unknown';

/** The commit broke one of its guards; nothing of it was done. */
export class CommitRefused extends Error {
  readonly rule: Rule;
  constructor(rule: Rule, what: string) {
    super(`commit refused: ${rule} (${what})`);
    this.rule = rule;
  }
}

/** The engine can't write now (disk full, I/O error); nothing was done, and trying again later is right. */
export class JournalUnavailable extends Error {}

/** What a reader may see: one tree, or all trees of an owner (all of all, if no owner is named). */
export type Scope = { tree: string } | { owner?: string; except?: readonly string[] };

export type Page = {
  facts: StoredFact[];
  /** The reader now has everything of its scope up to here. Pages end where a commit ends. */
  through: number;
  /** Whether `through` was the journal's head when the page was read. */
  atHead: boolean;
};

export type Verdict = { verdict: 'ok' } | { verdict: 'reset'; reason: 'epoch' | 'trimmed' | 'ahead' };

export interface Journal {
  /** This run of the gateway. */
  readonly epoch: string;
  /** The newest committed seq. */
  readonly head: number;
  /** Why nothing can be written: tried anew when asked, as nobody may bring a commit while we aren't ready. */
  readonly problem: string | undefined;
  /**
   * Carries out the commit, or rejects with CommitRefused or JournalUnavailable having done nothing.
   * Gives its facts as `read` would. Promises resolve in the order of their seqs.
   */
  commit(commit: Commit): Promise<StoredFact[]>;
  judge(cursor: { epoch: string; seq: number }): Promise<Verdict>;
  /** Facts of the scope after `after`, about `maxBytes` of them (at least one commit, if there is one). */
  read(scope: Scope, after: number, maxBytes: number): Promise<Page>;
  /** The whole data of one fact, with the tree it belongs to. */
  fact(seq: number): Promise<{ tree: string; owner: string; data: string } | undefined>;
  agent(id: string): Promise<AgentRow | undefined>;
  /** All agents of the scope with the open permissions, as of one seq; `live`: only trees in which a run is open. */
  snapshot(scope: Scope, only?: { live: boolean }): Promise<Snapshot>;
  /** Agents of the scope that fit, newest first. */
  agents(
    scope: Scope,
    filter: AgentFilter,
    page: { limit: number; before?: number | undefined },
  ): Promise<AgentRow[]>;
  permission(id: string): Promise<PermissionRow | undefined>;
  /** Open permissions, newest first. */
  permissions(scope: Scope, limit: number, before?: number): Promise<PermissionRow[]>;
  /** The uuids of the last user lines that were placed for a run. */
  sentUuids(run: RunRef, limit: number): Promise<string[]>;
  key(owner: string, method: string, key: string): Promise<KeptKey | undefined>;
  content(agent: string, id: string): Promise<string | undefined>;
  run(run: RunRef): Promise<RunRow | undefined>;
  /** Runs that aren't closed, for the restart. */
  openRuns(): Promise<RunRow[]>;
  /** Placed lines of a run that end after byte `after`, in order. */
  inputs(run: RunRef, after: number): Promise<InputLine[]>;
  close(): void;
}
