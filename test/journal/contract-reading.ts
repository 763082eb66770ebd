import { describe, expect, test } from 'vitest';
import type { Journal, Scope } from '../../src/journal/journal.ts';
import { limits } from '../../src/protocol/limits.ts';
import { type Engine, Place } from './engine.ts';
import { all, born, fact, facts, noBound } from './samples.ts';

async function pages(journal: Journal, scope: Scope, maxBytes: number) {
  const found = [];
  for (let after = 0, atHead = false; !atHead; ) {
    const page = await journal.read(scope, after, maxBytes);
    found.push(page);
    ({ through: after, atHead } = page);
  }
  return found;
}

const tree = (id: string): Scope => ({ tree: id });

export function describeReading(engine: Engine): void {
  describe('reading', () => {
    test('goes on after a cursor, to the head', async () => {
      using at = new Place(engine);
      const { journal } = at;
      expect(await journal.read(all, 0, noBound)).toEqual({ facts: [], through: 0, atHead: true });
      const given = await journal.commit({ facts: facts(5), changes: [] });
      const after = given[2]?.seq ?? 0;
      expect(await journal.read(all, after, noBound)).toEqual({
        facts: given.slice(3),
        through: journal.head,
        atHead: true,
      });
    });

    test('gives pages that end where a commit ends, each with one commit at least', async () => {
      using at = new Place(engine);
      const { journal } = at;
      const ends: number[] = [];
      for (const count of [1, 7, 2, 3, 1, 1]) {
        await journal.commit({ facts: facts(count), changes: [] });
        ends.push(journal.head);
      }
      const smallest = await pages(journal, all, 1);
      expect(smallest.map(({ through }) => through)).toEqual(ends);
      expect(smallest.map((page) => page.facts.at(-1)?.seq)).toEqual(ends);
      expect(smallest.map(({ atHead }) => atHead)).toEqual([false, false, false, false, false, true]);
      const larger = await pages(journal, all, 300);
      expect(larger.length).toBeLessThan(6);
      expect(larger.flatMap((page) => page.facts)).toEqual(smallest.flatMap((page) => page.facts));
      for (const { through } of larger) expect(ends).toContain(through);
    });

    test('is bounded for one tree, too, where commits hold facts of several', async () => {
      using at = new Place(engine);
      const { journal } = at;
      const ends: number[] = [];
      for (let i = 0; i < 5; i += 1) {
        await journal.commit({ facts: [...facts(2, 'a'), ...facts(1, 'b')], changes: [] });
        ends.push(journal.head);
      }
      expect((await pages(journal, tree('a'), 1)).map(({ through }) => through)).toEqual(ends);
    });

    test('is through with what isn’t of its scope', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit({ facts: facts(2, 'a'), changes: [] });
      await journal.commit({ facts: facts(3, 'b'), changes: [] });
      const page = await journal.read(tree('a'), 0, noBound);
      expect(page).toMatchObject({ through: journal.head, atHead: true });
      expect(page.facts).toHaveLength(2);
      expect((await journal.read(tree('a'), 0, 1)).through).toBeGreaterThanOrEqual(2);
    });

    test('shows a tree, an owner’s trees, or all; and leaves out what is excepted', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a', { owner: 'olga' }));
      await journal.commit(born('b', { owner: 'piet' }));
      await journal.commit(born('c', { tree: 'a', owner: 'olga' }));
      await journal.commit(born('d', { owner: 'olga' }));
      const agents = async (scope: Scope) =>
        (await journal.read(scope, 0, noBound)).facts
          .map(({ head }) => JSON.parse(`{${head}}`).agent)
          .join('');
      expect(await agents(tree('a'))).toBe('ac');
      expect(await agents(tree('c'))).toBe('');
      expect(await agents({})).toBe('abcd');
      expect(await agents({ owner: 'olga' })).toBe('acd');
      expect(await agents({ owner: 'nobody' })).toBe('');
      expect(await agents({ except: ['a'] })).toBe('bd');
      expect(await agents({ owner: 'olga', except: ['a', 'b', 'nothing'] })).toBe('d');
    });

    test('cuts data over the event limit, whose whole is had by its seq', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      // Over the limit by one byte, and far below it in UTF-16 units.
      const large = JSON.stringify('€'.repeat((limits.maxEventBytes - 2) / 3 + 1));
      const fitting = JSON.stringify('x'.repeat(limits.maxEventBytes - 2));
      const given = await journal.commit({
        facts: [fact({ data: large }), fact({ data: fitting })],
        changes: [],
      });
      expect(given.map(({ data, size }) => [data, size])).toEqual([
        [null, large.length],
        [fitting, fitting.length],
      ]);
      expect((await journal.read(all, given[0]?.seq ?? 0, 1)).facts).toEqual(given.slice(1));
      expect(await journal.fact(given[0]?.seq ?? 0)).toEqual({ tree: 'a', owner: 'olga', data: large });
      expect(await journal.fact(journal.head + 1)).toBeUndefined();
    });

    test('gives data verbatim, whatever is in it', async () => {
      using at = new Place(engine);
      const data = '{ "a" : 1.0e2, "b":"\\ud83d\\u0000 \u2028 🙂 \u007f" }';
      await at.journal.commit({ facts: [fact({ data })], changes: [] });
      expect((await at.reopen().read(all, 0, 1)).facts[0]?.data).toBe(data);
    });
  });
}
