import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { InputLine, Journal } from '../../src/journal/journal.ts';
import { type Engine, Place } from './engine.ts';
import { born, changes, lines, place } from './samples.ts';

const run = { agent: 'a', run: 1 };

async function dropped(journal: Journal, from: number) {
  await journal.commit(changes({ type: 'input.drop', run, from }));
  return { inputs: await journal.inputs(run, 0), inputTo: (await journal.run(run))?.inputTo };
}

/** The lines that are left stand one behind the other. */
function closedUp(left: readonly InputLine[]): InputLine[] {
  let end = 0;
  return left.map((line) => {
    const from = end;
    end += line.bytes.length;
    return { ...line, from, to: end };
  });
}

export function describeInputs(engine: Engine): void {
  describe('the lines of a run’s input', () => {
    test('come back as they were placed, each with its place', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      const placed = [
        ...lines(0, 8, 30),
        { kind: 'end', from: 38, to: 39, bytes: new Uint8Array([10]) } as const,
      ];
      await journal.commit(changes(place(run, placed.slice(0, 2)), place(run, placed.slice(2))));
      expect(await journal.inputs(run, 0)).toEqual(placed);
      expect(await journal.run(run)).toMatchObject({ inputTo: 39 });
    });

    test('that end after a byte are those not yet written, the half-written one too', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      const placed = lines(0, 8, 30, 2);
      await journal.commit(changes(place(run, placed)));
      expect(await journal.inputs(run, 8)).toEqual(placed.slice(1));
      expect(await journal.inputs(run, 9)).toEqual(placed.slice(1));
      expect(await journal.inputs(run, 40)).toEqual([]);
    });

    test.each([
      ['first', 0],
      ['middle', 1],
      ['last', 2],
    ])('close up when the %s one is dropped, and more can be placed behind them', async (_, index) => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      const placed = lines(0, 8, 30, 2);
      await journal.commit(changes(place(run, placed)));
      const left = closedUp(placed.toSpliced(index, 1));
      expect(await dropped(journal, placed[index]?.from ?? 0)).toEqual({
        inputs: left,
        inputTo: left.at(-1)?.to,
      });
      const more = lines(left.at(-1)?.to ?? 0, 4);
      await journal.commit(changes(place(run, more)));
      expect(await at.reopen().inputs(run, 0)).toEqual([...left, ...more]);
    });

    test('close up whatever their lengths, and whichever are dropped', async () => {
      const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
      const picks = fc.array(fc.nat(), { maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(lengths, picks, async (sizes, drops) => {
          using at = new Place(engine);
          await at.journal.commit(born('a'));
          let left = lines(0, ...sizes);
          await at.journal.commit(changes(place(run, left)));
          for (const pick of drops.slice(0, left.length)) {
            const index = pick % left.length;
            const from = left[index]?.from ?? 0;
            left = closedUp(left.toSpliced(index, 1));
            expect(await dropped(at.journal, from)).toEqual({ inputs: left, inputTo: left.at(-1)?.to ?? 0 });
          }
        }),
        { numRuns: 30 },
      );
    });

    test('tell the uuids of the last messages, the newest first', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      const placed = lines(0, 8, 30, 2, 5).map((line, i) =>
        i === 1 ? { ...line, kind: 'answer' as const } : line,
      );
      await journal.commit(changes(place(run, placed)));
      expect(await journal.sentUuids(run, 10)).toEqual(['line 40', 'line 38', 'line 0']);
      expect(await journal.sentUuids(run, 2)).toEqual(['line 40', 'line 38']);
      expect(await journal.sentUuids({ agent: 'a', run: 2 }, 10)).toEqual([]);
    });

    test('are gone with their run, and no other run’s', async () => {
      using at = new Place(engine);
      const { journal } = at;
      const next = { agent: 'a', run: 2 };
      await journal.commit(born('a'));
      await journal.commit(
        changes(
          place(run, lines(0, 8)),
          { type: 'run.close', run },
          { type: 'run.open', run: next, marker: 'next' },
          place(next, lines(0, 5)),
        ),
      );
      expect(await journal.inputs(run, 0)).toEqual([]);
      expect(await journal.inputs(next, 0)).toEqual(lines(0, 5));
    });
  });
}
