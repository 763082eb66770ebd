import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CommitRefused, type Journal } from '../../src/journal/journal.ts';
import { type Engine, Place } from './engine.ts';
import { after, empty, end, type Refused, type Tables } from './model.ts';
import { type Plan, plans } from './model-commits.ts';
import { all } from './samples.ts';

type Step = { commit: Plan } | 'reopen' | { read: number; of: string | undefined };

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: plans.map((commit) => ({ commit })) },
  { weight: 1, arbitrary: fc.constant('reopen' as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      read: fc.integer({ min: 1, max: 600 }),
      of: fc.constantFrom('a', 'b', undefined),
    }),
  },
);

export function describeModel(engine: Engine): void {
  test('whatever is committed, it holds what a simple model of it holds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 40 }), async (list) => {
        using at = new Place(engine);
        let tables = empty;
        for (const step of list) {
          if (step === 'reopen') at.reopen();
          else if ('read' in step) await comparePages(at.journal, tables, step);
          else tables = await commitBoth(at.journal, tables, step.commit);
        }
        await compare(at.journal, tables);
        await compare(at.reopen(), tables);
      }),
      { numRuns: 100 },
    );
  });
}

/** Commits to both; they must agree on the rule, if it is refused. */
async function commitBoth(journal: Journal, tables: Tables, plan: Plan): Promise<Tables> {
  const commit = plan(tables);
  let next: Tables;
  try {
    next = after(tables, commit);
  } catch (refusal) {
    const { rule } = refusal as Refused;
    const agrees = (error: unknown) => (error instanceof CommitRefused ? error.rule : 'bug') === rule;
    await expect(journal.commit(commit), rule).rejects.toSatisfy(agrees);
    return tables;
  }
  const given = await journal.commit(commit);
  expect(given.map(({ seq, data }) => ({ seq, data }))).toEqual(seen(next.facts.slice(tables.facts.length)));
  return next;
}

function seen(facts: Tables['facts']) {
  return facts.map(({ seq, data }) => ({ seq, data }));
}

async function comparePages(
  journal: Journal,
  { facts }: Tables,
  { read, of }: { read: number; of: string | undefined },
) {
  const head = facts.at(-1)?.seq ?? 0;
  const expected = facts.filter(({ tree }) => of === undefined || tree === of);
  const found = [];
  for (let cursor = 0; ; ) {
    const page = await journal.read(of === undefined ? all : { tree: of }, cursor, read);
    found.push(...page.facts);
    expect(page.atHead).toBe(page.through === head);
    const size = (one: (typeof page.facts)[number]) => one.head.length + one.size;
    const last = facts.find(({ seq }) => seq === page.facts.at(-1)?.seq)?.commitTo;
    const beforeLast = page.facts.filter(({ seq }) => facts[seq - 1]?.commitTo !== last);
    expect(beforeLast.reduce((sum, one) => sum + size(one), 0)).toBeLessThan(read);
    if (page.atHead) break;
    expect(page.through).toBeGreaterThan(cursor);
    expect(facts.find(({ seq }) => seq === page.through)?.commitTo).toBe(page.through);
    cursor = page.through;
  }
  expect(found.map(({ seq, data }) => ({ seq, data }))).toEqual(seen(expected));
}

async function compare(journal: Journal, tables: Tables): Promise<void> {
  expect(journal.head).toBe(tables.facts.at(-1)?.seq ?? 0);
  await comparePages(journal, tables, { read: 1, of: undefined });
  for (const id of ['a', 'b', 'c']) {
    const row = await journal.agent(id);
    const agent = row && {
      version: row.version,
      state: row.state,
      record: row.record,
      seq: row.seq,
      result: row.result,
    };
    expect(agent).toEqual(tables.agents[id]);
    for (const number of [1, 2]) await compareRun(journal, { agent: id, run: number }, tables);
    for (const content of ['x', 'y', 'z']) {
      expect(await journal.content(id, content)).toBe(tables.contents[`${id} ${content}`]);
    }
  }
  for (const id of ['x', 'y', 'z']) {
    const row = await journal.permission(id);
    expect(row && { seq: row.seq, settled: row.settled }).toEqual(tables.permissions[id]);
    expect((await journal.key('olga', 'task.start', id))?.outcome).toBe(tables.keys[id]);
  }
}

async function compareRun(
  journal: Journal,
  run: { agent: string; run: number },
  { runs }: Tables,
): Promise<void> {
  const expected = runs[`${run.agent} ${run.run}`];
  const open = (await journal.openRuns()).find((row) => row.agent === run.agent && row.run === run.run);
  expect(open !== undefined).toBe(expected?.open ?? false);
  if (!expected || !open) return;
  const { factsTo, textFrom } = expected;
  expect(open).toMatchObject({ factsTo, textFrom, inputTo: end(expected) });
  expect(await journal.inputs(run, 0)).toEqual(expected.inputs);
}
