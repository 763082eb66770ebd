import type { Change, Commit, InputLine, NewFact, Rule } from '../../src/journal/journal.ts';

/** The commit broke this rule; `bug` stands for what no rule forbids and every engine rejects. */
export class Refused extends Error {
  readonly rule: Rule | 'bug';
  constructor(rule: Rule | 'bug') {
    super(rule);
    this.rule = rule;
  }
}

type Run = { open: boolean; factsTo: number; textFrom: number; inputs: InputLine[] };
type Agent = {
  version: number;
  state: string;
  record: string;
  seq: number;
  result?: { json: string; seq: number };
};

export type Tables = {
  facts: (NewFact & { seq: number; commitTo: number })[];
  agents: Record<string, Agent>;
  runs: Record<string, Run>;
  permissions: Record<string, { seq: number; settled?: string }>;
  keys: Record<string, string>;
  contents: Record<string, string>;
};

export const empty: Tables = { facts: [], agents: {}, runs: {}, permissions: {}, keys: {}, contents: {} };

/** What a commit makes of the tables, or what it is refused with: the journal's contract in its plainest form. */
export function after(tables: Tables, commit: Commit): Tables {
  const made = structuredClone(tables);
  const first = (made.facts.at(-1)?.seq ?? 0) + 1;
  if (commit.run) {
    const run = openRun(made, commit.run);
    if (commit.offsets) {
      if (run.factsTo !== commit.offsets.expect) throw new Refused('stale');
      run.factsTo = commit.offsets.factsTo;
      run.textFrom = commit.offsets.textFrom;
    }
  }
  const commitTo = first + commit.facts.length - 1;
  made.facts.push(...commit.facts.map((fact, i) => ({ ...fact, seq: first + i, commitTo })));
  for (const change of commit.changes) {
    apply(made, change, (index) => {
      if (index >= commit.facts.length) throw new Refused('unknown');
      return first + index;
    });
  }
  return made;
}

export function end(run: Run): number {
  return run.inputs.at(-1)?.to ?? 0;
}

function apply(tables: Tables, change: Change, seqOf: (fact: number) => number): void {
  switch (change.type) {
    case 'agent.create': {
      const seq = seqOf(change.fact);
      const { id, state, record } = change.agent;
      once(tables.agents, id, { version: 0, state, record, seq });
      return;
    }
    case 'agent.update': {
      const { agent: id, version, state, record, result } = change;
      const seq = result && seqOf(result.fact);
      const agent = tables.agents[id];
      if (agent?.version !== version) throw new Refused('stale');
      Object.assign(agent, { version: version + 1, state, record });
      if (result && seq !== undefined) agent.result = { json: result.json, seq };
      return;
    }
    case 'run.open':
      once(tables.runs, nameOf(change.run), { open: true, factsTo: 0, textFrom: 0, inputs: [] });
      return;
    case 'run.close':
      Object.assign(openRun(tables, change.run), { open: false, inputs: [] });
      return;
    case 'input.place':
      return placeInput(openRun(tables, change.run), change.lines);
    case 'input.drop':
      return dropInput(tables.runs[nameOf(change.run)], change.from);
    case 'content.keep':
      tables.contents[`${change.agent} ${change.id}`] = change.content;
      return;
    case 'content.forget':
      for (const name of Object.keys(tables.contents)) {
        const [agent, id] = name.split(' ');
        if (agent === change.agent && (change.id ?? id) === id) delete tables.contents[name];
      }
      return;
    case 'permission.ask': {
      const seq = seqOf(change.fact);
      once(tables.permissions, change.permission.id, { seq });
      return;
    }
    case 'permission.settle': {
      const asked = tables.permissions[change.id];
      if (!asked || asked.settled !== undefined) throw new Refused('settled');
      asked.settled = change.settled;
      return;
    }
    case 'key.keep':
      if (tables.keys[change.key.key] !== undefined) throw new Refused('key_taken');
      tables.keys[change.key.key] = change.key.outcome;
      return;
    default:
      change satisfies never;
  }
}

function once<T>(rows: Record<string, T>, id: string, row: T): void {
  if (rows[id]) throw new Refused('bug');
  rows[id] = row;
}

function openRun(tables: Tables, run: { agent: string; run: number }): Run {
  const found = tables.runs[nameOf(run)];
  if (!found?.open) throw new Refused('run_closed');
  return found;
}

function placeInput(run: Run, lines: readonly InputLine[]): void {
  for (const line of lines) {
    const fits = line.from === end(run) && line.to === line.from + line.bytes.length;
    if (!fits) throw new Refused('misplaced');
    run.inputs.push(line);
  }
}

function dropInput(run: Run | undefined, from: number): void {
  const index = run?.inputs.findIndex((line) => line.from === from) ?? -1;
  const [line] = index < 0 ? [] : (run?.inputs.splice(index, 1) ?? []);
  if (!line) throw new Refused('misplaced');
  for (const behind of run?.inputs.slice(index) ?? []) {
    behind.from -= line.bytes.length;
    behind.to -= line.bytes.length;
  }
}

export function nameOf({ agent, run }: { agent: string; run: number }): string {
  return `${agent} ${run}`;
}
