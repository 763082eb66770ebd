import { describe, expect, test } from 'vitest';
import {
  type Change,
  type Commit,
  CommitRefused,
  type Journal,
  type Rule,
} from '../../src/journal/journal.ts';
import { type Engine, Place } from './engine.ts';
import { all, ask, born, changes, fact, facts, history, keep, lines, place, update } from './samples.ts';

const run = { agent: 'a', run: 1 };
const closed = { agent: 'closed', run: 1 };

/** Two agents (the run of one is closed), a settled permission, a key, and two input lines. */
async function furnish(journal: Journal): Promise<void> {
  await journal.commit(born('a'));
  await journal.commit(born('closed'));
  await journal.commit({
    facts: [fact()],
    changes: [ask('p'), { type: 'permission.settle', id: 'p', settled: '{}' }],
  });
  await journal.commit(
    changes(keep('k', { at: 5 }), place(run, lines(0, 10, 20)), { type: 'run.close', run: closed }),
  );
}

/** All that can be seen of what `furnish` made, and of what the commits below would do besides. */
async function sight(journal: Journal) {
  return {
    head: journal.head,
    facts: await history(journal),
    snapshot: await journal.snapshot(all),
    run: await journal.run(run),
    openRuns: await journal.openRuns(),
    inputs: await journal.inputs(run, 0),
    permission: await journal.permission('p'),
    keys: await Promise.all(['k', 'besides'].map((key) => journal.key('olga', 'task.start', key))),
    content: await journal.content('a', 'besides'),
  };
}

const create = born('b').changes[0] as Extract<Change, { type: 'agent.create' }>;
const refused: [Rule, string, Partial<Commit>][] = [
  ['run_closed', 'acts for a run that was never opened', { run: { agent: 'a', run: 2 } }],
  ['run_closed', 'acts for a closed run', { run: closed }],
  ['run_closed', 'closes a run again', { changes: [{ type: 'run.close', run: closed }] }],
  ['run_closed', 'places input for a closed run', { changes: [place(closed, lines(0, 5))] }],
  ['stale', 'expects other offsets', { run, offsets: { expect: 1, factsTo: 2, textFrom: 2 } }],
  ['stale', 'was decided on another version of its agent', { changes: [update('a', 1)] }],
  ['stale', 'updates an agent that is not there', { changes: [update('nobody', 0)] }],
  ['misplaced', 'leaves a gap in the input', { changes: [place(run, lines(31, 5))] }],
  ['misplaced', 'writes over input', { changes: [place(run, lines(29, 5))] }],
  ['misplaced', 'has a gap between its lines', { changes: [place(run, [...lines(30, 5), ...lines(36, 5)])] }],
  [
    'misplaced',
    'has a line of another length',
    {
      changes: [
        place(
          run,
          lines(30, 5).map((line) => ({ ...line, to: 36 })),
        ),
      ],
    },
  ],
  ['misplaced', 'drops from within a line', { changes: [{ type: 'input.drop', run, from: 5 }] }],
  ['misplaced', 'drops behind the last line', { changes: [{ type: 'input.drop', run, from: 30 }] }],
  [
    'settled',
    'settles a permission again',
    { changes: [{ type: 'permission.settle', id: 'p', settled: '"again"' }] },
  ],
  [
    'settled',
    'settles what was never asked',
    { changes: [{ type: 'permission.settle', id: 'q', settled: '{}' }] },
  ],
  ['key_taken', 'keeps a key again', { changes: [keep('k', { at: 6, outcome: '"another"' })] }],
  ['unknown', 'creates an agent by a fact it lacks', { changes: [{ ...create, fact: 1 }] }],
  [
    'unknown',
    'ends an agent by a fact it lacks',
    { changes: [update('a', 0, { result: { json: '{}', fact: 1 } })] },
  ],
  [
    'unknown',
    'keeps a content by a fact it lacks',
    { changes: [{ type: 'content.keep', agent: 'a', id: 'x', content: '1', fact: 1 }] },
  ],
  ['unknown', 'asks by a fact it lacks', { changes: [ask('q', {}, 1)] }],
];
const broken: [string, Change][] = [
  ['creates an agent again', { ...create, agent: { ...create.agent, id: 'a' } }],
  ['opens a run again', { type: 'run.open', run, marker: 'another' }],
  ['asks under a known id', ask('p')],
];

const besides: Change[] = [
  { type: 'content.keep', agent: 'a', id: 'besides', content: '"kept"' },
  keep('besides'),
  update('closed', 0),
];

export function describeCommits(engine: Engine): void {
  describe('a commit', () => {
    test('is there as a whole once it resolves, and gives its facts as they are read', async () => {
      using at = new Place(engine);
      const { journal } = at;
      const given = await journal.commit({
        ...born('a'),
        facts: [fact({ turn: 2, message: 'm', block: 0 }), fact()],
      });
      expect(given).toEqual(await history(journal));
      expect(given.map(({ seq }) => seq)).toEqual([journal.head - 1, journal.head]);
      expect(JSON.parse(`{${given[0]?.head}}`)).toEqual({
        at: 1,
        agent: 'a',
        turn: 2,
        message: 'm',
        block: 0,
        type: 'message',
      });
      expect(await journal.agent('a')).toMatchObject({ id: 'a', seq: given[0]?.seq, version: 0 });
    });

    test.each(refused)(
      'is refused (%s) and leaves no trace if it %s',
      async (rule, _, { changes: own = [], ...guard }) => {
        using at = new Place(engine);
        await furnish(at.journal);
        const before = await sight(at.journal);
        // The bad one comes last, when all else would be done.
        const refusal = at.journal.commit({ facts: [fact()], changes: [...besides, ...own], ...guard });
        await expect(refusal).rejects.toSatisfy(
          (error) => error instanceof CommitRefused && error.rule === rule,
        );
        expect(await sight(at.journal)).toEqual(before);
        expect(await sight(at.reopen())).toEqual(before);
        await expect(at.journal.commit({ facts: [fact()], changes: besides })).resolves.toHaveLength(1);
      },
    );

    test.each(broken)('that %s rejects as a bug, and leaves no trace either', async (_, change) => {
      using at = new Place(engine);
      await furnish(at.journal);
      const before = await sight(at.journal);
      const refusal = at.journal.commit({ facts: [fact()], changes: [...besides, change] });
      await expect(refusal).rejects.not.toBeInstanceOf(CommitRefused);
      expect(await sight(at.journal)).toEqual(before);
    });

    test('may close the run that it acts for', async () => {
      using at = new Place(engine);
      await at.journal.commit(born('a'));
      await at.journal.commit({ run, facts: [fact()], changes: [{ type: 'run.close', run }] });
      expect(await at.journal.openRuns()).toEqual([]);
    });

    test('moves its run’s offsets only from where they stand: of two for the same lines one counts', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      const offsets = { expect: 0, factsTo: 700, textFrom: 300 };
      const both = [1, 2].map(() => journal.commit({ run, offsets, facts: facts(2), changes: [] }));
      const outcomes = await Promise.allSettled(both);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(await journal.run(run)).toMatchObject({ factsTo: 700, textFrom: 300 });
      expect(await history(journal)).toHaveLength(3);
      await journal.commit({
        run,
        offsets: { expect: 700, factsTo: 900, textFrom: 900 },
        facts: [],
        changes: [],
      });
      expect(await journal.run(run)).toMatchObject({ factsTo: 900, textFrom: 900 });
    });

    test('resolves in the order of the seqs', async () => {
      using at = new Place(engine);
      const { journal } = at;
      const order: number[] = [];
      const commits = Array.from({ length: 20 }, (_, i) =>
        journal.commit({ facts: facts(1 + (i % 3)), changes: [] }),
      );
      await Promise.all(
        commits.map((commit) => commit.then((given) => order.push(...given.map(({ seq }) => seq)))),
      );
      expect(order).toEqual((await history(journal)).map(({ seq }) => seq));
    });
  });
}
