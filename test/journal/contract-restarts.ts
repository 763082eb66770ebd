import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type Engine, Place } from './engine.ts';
import { born, facts, history } from './samples.ts';

const committer = fileURLToPath(new URL('./committer.ts', import.meta.url));

/** Lets another process commit, and kills it once it has said so many commits. Gives the last that it said. */
async function killedAfter(
  commits: number,
  engine: Engine,
  folder: string,
): Promise<{ epoch: string; seq: number }> {
  const child = spawn(process.execPath, [committer, engine.url, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  for await (const line of createInterface({ input: child.stdout })) {
    said = line;
    commits -= 1;
    if (commits === 0) child.kill('SIGKILL');
  }
  if (child.signalCode === null && child.exitCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  return JSON.parse(said);
}

export function describeRestarts(engine: Engine): void {
  describe('a cursor', () => {
    test('continues if its epoch is known and its seq was reached in it', async () => {
      using at = new Place(engine);
      const { epoch } = at.journal;
      await at.journal.commit({ facts: facts(3), changes: [] });
      const judge = (seq: number, of = epoch) => at.journal.judge({ epoch: of, seq });
      expect(await judge(0)).toEqual({ verdict: 'ok' });
      expect(await judge(3)).toEqual({ verdict: 'ok' });
      expect(await judge(4)).toEqual({ verdict: 'reset', reason: 'ahead' });
      expect(await judge(3, 'of another journal')).toEqual({ verdict: 'reset', reason: 'epoch' });
      await at.journal.commit({ facts: facts(1), changes: [] });
      expect(await judge(4)).toEqual({ verdict: 'ok' });
    });

    test('of an earlier run of the gateway continues up to where that run came', async () => {
      using at = new Place(engine);
      const first = at.journal.epoch;
      await at.journal.commit({ facts: facts(3), changes: [] });
      const { epoch: empty } = at.reopen();
      const { epoch } = at.reopen();
      await at.journal.commit({ facts: facts(2), changes: [] });
      expect(new Set([first, empty, epoch]).size).toBe(3);
      for (const of of [first, empty]) {
        expect(await at.journal.judge({ epoch: of, seq: 3 })).toEqual({ verdict: 'ok' });
        expect(await at.journal.judge({ epoch: of, seq: 4 })).toEqual({ verdict: 'reset', reason: 'ahead' });
      }
      expect(await at.journal.judge({ epoch, seq: 5 })).toEqual({ verdict: 'ok' });
    });
  });

  describe('after a restart', () => {
    test('seqs go on, and none is given twice', async () => {
      using at = new Place(engine);
      await at.journal.commit(born('a'));
      await expect(at.journal.commit({ ...born('b'), run: { agent: 'a', run: 9 } })).rejects.toThrow(
        'run_closed',
      );
      const before = await history(at.journal);
      const head = at.journal.head;
      expect(at.reopen().head).toBe(head);
      const given = await at.journal.commit({ facts: facts(2), changes: [] });
      expect(given[0]?.seq).toBeGreaterThan(head);
      expect(await history(at.journal)).toEqual([...before, ...given]);
    });

    test('open runs are found, with their offsets', async () => {
      using at = new Place(engine);
      for (const id of ['b', 'a']) await at.journal.commit(born(id));
      const run = { agent: 'a', run: 1 };
      await at.journal.commit({
        run,
        offsets: { expect: 0, factsTo: 9, textFrom: 4 },
        facts: [],
        changes: [],
      });
      await at.journal.commit({ facts: [], changes: [{ type: 'run.close', run: { agent: 'b', run: 1 } }] });
      expect(await at.reopen().openRuns()).toEqual([
        { ...run, marker: 'marker of a', factsTo: 9, textFrom: 4, inputTo: 0 },
      ]);
    });
  });

  describe('after kill -9', () => {
    test('all that was committed is there, and nothing of a commit that was not', async () => {
      using at = new Place(engine);
      at.journal.close();
      const ends: { epoch: string; seq: number }[] = [];
      for (const commits of [1, 12, 40]) {
        ends.push(await killedAfter(commits, engine, at.folder));
        at.journal = engine.open(at.folder);
        const seqs = (await history(at.journal)).map(({ seq }) => seq);
        expect(seqs).toContain(ends.at(-1)?.seq);
        expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
        expect(new Set(seqs).size).toBe(seqs.length);
        // One fact of the agent's birth, then three a commit.
        expect((seqs.length - 1) % 3).toBe(0);
        expect(at.journal.head).toBe(seqs.at(-1));
        const { head } = at.journal;
        for (const end of ends) expect(await at.journal.judge(end)).toEqual({ verdict: 'ok' });
        expect(await at.journal.judge({ epoch: ends.at(-1)?.epoch ?? '', seq: head + 1 })).toMatchObject({
          reason: 'ahead',
        });
        at.journal.close();
      }
    });
  });
}
