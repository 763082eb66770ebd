import type {
  Change,
  Commit,
  InputLine,
  Journal,
  KeptKey,
  NewFact,
  RunRef,
  StoredFact,
} from '../../src/journal/journal.ts';

type Of<T extends Change['type']> = Extract<Change, { type: T }>;

export const all = {};
export const noBound = Number.MAX_SAFE_INTEGER;

export function fact(more: Partial<NewFact> = {}): NewFact {
  return { tree: 'a', agent: 'a', at: 1, type: 'message', data: '{"type":"user"}', ...more };
}

/** Facts of one tree whose data tells them apart. */
export function facts(count: number, tree = 'a', data = ''): NewFact[] {
  return Array.from({ length: count }, (_, i) =>
    fact({ tree, agent: tree, data: JSON.stringify(`${data}${i}`) }),
  );
}

/** A new agent: a root, or a child of `tree`'s root; its run 1 is open. */
export function born(id: string, { tree = id, owner = 'olga' } = {}): Commit {
  return {
    facts: [fact({ tree, agent: id, type: 'agent.created', data: '{}' })],
    changes: [
      {
        type: 'agent.create',
        fact: 0,
        agent: {
          id,
          tree,
          ...(tree !== id && { parent: tree }),
          owner,
          createdAt: 1,
          state: 'starting',
          task: '{"cwd":"/"}',
          record: '{"run":1}',
        },
      },
      { type: 'run.open', run: { agent: id, run: 1 }, marker: `marker of ${id}` },
    ],
  };
}

export function update(agent: string, version: number, more: Partial<Of<'agent.update'>> = {}): Change {
  return { type: 'agent.update', agent, version, state: 'running', record: `{"v":${version + 1}}`, ...more };
}

export function ask(id: string, more: Partial<Of<'permission.ask'>['permission']> = {}, index = 0): Change {
  const place = { tree: 'a', agent: 'a', run: 1, owner: 'olga' };
  const permission = {
    id,
    ...place,
    requestId: `request ${id}`,
    at: 1,
    question: '{"tool":"Bash"}',
    ...more,
  };
  return { type: 'permission.ask', fact: index, permission };
}

export function keep(key: string, more: Partial<KeptKey> = {}): Change {
  const kept = { owner: 'olga', method: 'task.start', key, params: 'digest', outcome: '{}', at: 1, ...more };
  return { type: 'key.keep', key: kept };
}

/** Lines of these lengths, one behind the other. */
export function lines(from: number, ...lengths: number[]): InputLine[] {
  let end = from;
  return lengths.map((length, i) => {
    const begin = end;
    end += length;
    return {
      kind: 'user',
      ref: `line ${begin}`,
      from: begin,
      to: end,
      bytes: new Uint8Array(length).fill(65 + i),
    };
  });
}

export function place(run: RunRef, placed: InputLine[]): Change {
  return { type: 'input.place', run, lines: placed };
}

export const changes = (...list: Change[]): Commit => ({ facts: [], changes: list });

/** All facts of the journal in order. */
export async function history(journal: Journal): Promise<StoredFact[]> {
  return (await journal.read(all, 0, noBound)).facts;
}
