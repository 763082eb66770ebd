import { describe, expect, test } from 'vitest';
import { type Engine, Place } from './engine.ts';
import { all, ask, born, changes, fact, keep, update } from './samples.ts';

const day = 24 * 3_600_000;

export function describeTables(engine: Engine): void {
  describe('an agent', () => {
    test('has what was last committed of it, and a version that counts', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      expect(await journal.agent('a')).not.toHaveProperty('result');
      await journal.commit(changes(update('a', 0)));
      const [, result] = await journal.commit({
        facts: [fact(), fact({ type: 'agent.result' })],
        changes: [update('a', 1, { state: 'completed', result: { json: '{"text":"done"}', fact: 1 } })],
      });
      await journal.commit(changes(update('a', 2, { state: 'completed', record: '{"last":true}' })));
      expect(await at.reopen().agent('a')).toEqual({
        id: 'a',
        tree: 'a',
        owner: 'olga',
        createdAt: 1,
        seq: 1,
        state: 'completed',
        version: 3,
        task: '{"cwd":"/"}',
        record: '{"last":true}',
        result: { json: '{"text":"done"}', seq: result?.seq },
      });
      expect(await journal.agent('nobody').catch(() => undefined)).toBeUndefined();
    });

    test('is listed by scope, parent and state, the newest first, a page at a time', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      for (const id of ['b', 'c', 'd']) await journal.commit(born(id, { tree: 'a' }));
      await journal.commit(born('e', { owner: 'piet' }));
      await journal.commit(changes(update('c', 0, { state: 'completed' })));
      const ids = async (...[scope, filter, page]: Parameters<typeof journal.agents>) =>
        (await journal.agents(scope, filter, page)).map(({ id }) => id).join('');
      expect(await ids(all, {}, { limit: 10 })).toBe('edcba');
      expect(await ids({ owner: 'olga' }, {}, { limit: 2 })).toBe('dc');
      const third = (await journal.agent('c'))?.seq;
      expect(await ids({ owner: 'olga' }, {}, { limit: 2, before: third })).toBe('ba');
      expect(await ids({ tree: 'a' }, { parent: 'a' }, { limit: 10 })).toBe('dcb');
      expect(await ids(all, { states: ['completed', 'failed'] }, { limit: 10 })).toBe('c');
    });
  });

  describe('a snapshot', () => {
    test('holds the scope’s agents and open permissions', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      await journal.commit(born('b', { tree: 'a' }));
      await journal.commit(born('c', { owner: 'piet' }));
      await journal.commit({
        facts: [fact(), fact()],
        changes: [ask('p'), ask('q', { agent: 'b' }, 1), ask('r', { tree: 'c', agent: 'c' })],
      });
      await journal.commit(changes({ type: 'permission.settle', id: 'p', settled: '{}' }));
      const snapshot = await journal.snapshot({ tree: 'a' });
      expect(snapshot.seq).toBe(journal.head);
      expect(snapshot.agents.map(({ id }) => id)).toEqual(['a', 'b']);
      expect(snapshot.permissions).toEqual([await journal.permission('q')]);
      expect((await journal.snapshot({ owner: 'piet' })).agents.map(({ id }) => id)).toEqual(['c']);
    });

    test('of what lives has whole trees in which a run is open', async () => {
      using at = new Place(engine);
      const { journal } = at;
      const close = (agent: string) => journal.commit(changes({ type: 'run.close', run: { agent, run: 1 } }));
      for (const [id, tree] of [
        ['a', 'a'],
        ['b', 'a'],
        ['c', 'c'],
      ] as const)
        await journal.commit(born(id, { tree }));
      await close('a');
      await close('c');
      expect((await journal.snapshot(all, { live: true })).agents.map(({ id }) => id)).toEqual(['a', 'b']);
      await close('b');
      expect((await journal.snapshot(all, { live: true })).agents).toEqual([]);
      expect((await journal.snapshot(all)).agents).toHaveLength(3);
    });

    test('is of one seq, whatever is committed around it', async () => {
      using at = new Place(engine);
      const { journal } = at;
      const ids = Array.from({ length: 20 }, (_, i) => `agent ${String(i).padStart(2, '0')}`);
      const snapshots = ids.flatMap((id) => {
        void journal.commit(born(id));
        return [journal.snapshot(all), journal.snapshot(all)];
      });
      for (const { seq, agents } of await Promise.all(snapshots)) {
        // Each agent is one commit with one fact.
        expect(agents.map(({ id }) => id)).toEqual(ids.slice(0, seq));
      }
    });
  });

  describe('a permission', () => {
    test('is settled once, and then no longer listed', async () => {
      using at = new Place(engine);
      const { journal } = at;
      for (const id of ['p', 'q', 'r']) await journal.commit({ facts: [fact()], changes: [ask(id)] });
      const listed = async (limit: number, before?: number) =>
        (await journal.permissions({ tree: 'a' }, limit, before)).map(({ id }) => id).join('');
      expect(await listed(10)).toBe('rqp');
      expect(await listed(2)).toBe('rq');
      expect(await listed(2, 2)).toBe('p');
      await journal.commit(changes({ type: 'permission.settle', id: 'q', settled: '{"outcome":"denied"}' }));
      expect(await listed(10)).toBe('rp');
      expect(await journal.permission('q')).toMatchObject({
        requestId: 'request q',
        seq: 2,
        settled: '{"outcome":"denied"}',
      });
      expect(await journal.permission('p')).not.toHaveProperty('settled');
    });
  });

  describe('a key', () => {
    test('belongs to an owner and a method', async () => {
      using at = new Place(engine);
      const { journal, now } = at;
      const kept = [{}, { owner: 'piet' }, { method: 'task.cancel' }].map((more) =>
        keep('k', { at: now, ...more }),
      );
      await journal.commit(changes(...kept));
      expect(await journal.key('piet', 'task.start', 'k')).toEqual({
        owner: 'piet',
        method: 'task.start',
        key: 'k',
        params: 'digest',
        outcome: '{}',
        at: now,
      });
      expect(await journal.key('piet', 'task.cancel', 'k')).toBeUndefined();
      expect(await at.reopen().key('olga', 'task.cancel', 'k')).toBeDefined();
    });

    test('lives for 24 hours, and can then be used again', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(changes(keep('k', { at: at.now })));
      at.now += day - 1;
      expect(await journal.key('olga', 'task.start', 'k')).toBeDefined();
      await expect(journal.commit(changes(keep('k', { at: at.now })))).rejects.toThrow('key_taken');
      at.now += 1;
      expect(await journal.key('olga', 'task.start', 'k')).toBeUndefined();
      await journal.commit(changes(keep('k', { at: at.now, outcome: '"second"' })));
      expect(await journal.key('olga', 'task.start', 'k')).toMatchObject({ outcome: '"second"' });
    });
  });

  describe('a content', () => {
    test('that a fact told of is shown in snapshots while it is kept', async () => {
      using at = new Place(engine);
      const { journal } = at;
      await journal.commit(born('a'));
      const [, told] = await journal.commit({
        facts: [fact(), fact({ type: 'message.queued' })],
        changes: [
          { type: 'content.keep', agent: 'a', id: 'silent', content: '"x"' },
          { type: 'content.keep', agent: 'a', id: 'shown', content: '"y"', fact: 1 },
        ],
      });
      const { contents } = await journal.snapshot({ tree: 'a' });
      expect(contents).toEqual([{ agent: 'a', id: 'shown', content: '"y"', seq: told?.seq }]);
      expect((await journal.snapshot({ tree: 'b' })).contents).toEqual([]);
      await journal.commit(changes({ type: 'content.forget', agent: 'a', id: 'shown' }));
      expect((await journal.snapshot(all)).contents).toEqual([]);
    });

    test('is kept in its newest form until it is forgotten, alone or with all of its agent', async () => {
      using at = new Place(engine);
      const { journal } = at;
      const keepContent = (agent: string, id: string, content: string) =>
        ({ type: 'content.keep', agent, id, content }) as const;
      await journal.commit(
        changes(keepContent('a', 'x', '1'), keepContent('a', 'y', '2'), keepContent('b', 'x', '3')),
      );
      await journal.commit(changes(keepContent('a', 'x', '4')));
      expect(await journal.content('a', 'x')).toBe('4');
      await journal.commit(changes({ type: 'content.forget', agent: 'a', id: 'x' }));
      expect(await journal.content('a', 'x')).toBeUndefined();
      expect(await journal.content('a', 'y')).toBe('2');
      await journal.commit(changes({ type: 'content.forget', agent: 'a' }));
      expect(await journal.content('a', 'y')).toBeUndefined();
      expect(await at.reopen().content('b', 'x')).toBe('3');
    });
  });
}
