import fc from 'fast-check';
import type { Change, Commit, RunRef } from '../../src/journal/journal.ts';
import { end, nameOf, type Tables } from './model.ts';
import { ask, born, fact, keep, lines, update } from './samples.ts';

/** A commit that is made when the tables it meets are known, as places and versions come from them. */
export type Plan = (tables: Tables) => Commit;

const agents = fc.constantFrom('a', 'b', 'c');
const runs: fc.Arbitrary<RunRef> = fc.record({ agent: agents, run: fc.constantFrom(1, 2) });
/** Mostly right. */
const slip = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) });
/** Index of a fact, mostly one that the commit has. */
const index = fc.constantFrom(0, 0, 0, 1, 4);
const ids = fc.constantFrom('x', 'y', 'z');
const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 3 });

type Part = (tables: Tables) => Change;

const parts: fc.Arbitrary<Part> = fc.oneof(
  fc.tuple(agents, index).map(
    ([id, at]): Part =>
      () =>
        ({ ...born(id).changes[0], fact: at }) as Change,
  ),
  fc.tuple(agents, slip, fc.option(index)).map(
    ([id, off, at]): Part =>
      ({ agents: known }) => {
        const result = at === null ? {} : { result: { json: `"${at}"`, fact: at } };
        return update(id, (known[id]?.version ?? 0) + off, result);
      },
  ),
  runs.map(
    (run): Part =>
      () => ({ type: 'run.open', run, marker: 'm' }),
  ),
  runs.map(
    (run): Part =>
      () => ({ type: 'run.close', run }),
  ),
  fc.tuple(runs, slip, sizes).map(
    ([run, off, lengths]): Part =>
      (tables) => {
        const known = tables.runs[nameOf(run)];
        return { type: 'input.place', run, lines: lines((known ? end(known) : 0) + off, ...lengths) };
      },
  ),
  fc.tuple(runs, slip, fc.nat(5)).map(
    ([run, off, pick]): Part =>
      (tables) => {
        const inputs = tables.runs[nameOf(run)]?.inputs ?? [];
        return { type: 'input.drop', run, from: (inputs[pick % inputs.length]?.from ?? 0) + off };
      },
  ),
  fc.tuple(agents, ids, fc.string()).map(
    ([agent, id, text]): Part =>
      () => ({ type: 'content.keep', agent, id, content: JSON.stringify(text) }),
  ),
  fc.tuple(agents, fc.option(ids)).map(
    ([agent, id]): Part =>
      () => ({ type: 'content.forget', agent, ...(id && { id }) }),
  ),
  fc.tuple(ids, index).map(
    ([id, at]): Part =>
      () =>
        ask(id, {}, at),
  ),
  fc.tuple(ids, fc.string()).map(
    ([id, how]): Part =>
      () => ({ type: 'permission.settle', id, settled: JSON.stringify(how) }),
  ),
  fc.tuple(ids, fc.string()).map(
    ([id, outcome]): Part =>
      () =>
        keep(id, { at: 1_800_000_000_000, outcome }),
  ),
);

const factsOf = fc.array(
  fc
    .tuple(agents, fc.string({ maxLength: 200 }))
    .map(([tree, text]) => fact({ tree, agent: tree, data: JSON.stringify(text) })),
  { maxLength: 4 },
);
const guard = fc.option(fc.tuple(runs, fc.option(fc.tuple(slip, fc.nat(1000)))));

export const plans: fc.Arbitrary<Plan> = fc.tuple(factsOf, fc.array(parts, { maxLength: 3 }), guard).map(
  ([facts, changes, guarded]): Plan =>
    (tables) => {
      const commit = { facts, changes: changes.map((change) => change(tables)) };
      if (!guarded) return commit;
      const [run, moved] = guarded;
      if (!moved) return { ...commit, run };
      const expect = (tables.runs[nameOf(run)]?.factsTo ?? 0) + moved[0];
      return { ...commit, run, offsets: { expect, factsTo: expect + moved[1], textFrom: expect } };
    },
);
