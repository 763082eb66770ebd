import type { Agents } from '../agents/agents.ts';
import { type Principal, reaches } from '../agents/principal.ts';
import { permissionView, resultView, snapshotView } from '../agents/views.ts';
import type { Head } from '../feed/head.ts';
import type { Journal } from '../journal/journal.ts';
import { RequestError } from '../protocol/errors.ts';
import type { MethodName, Params, Result } from '../protocol/methods.ts';
import { demandAgent, demandTree } from './access.ts';
import type { Subscriptions } from './subscriptions.ts';

/** What the methods work on. */
export type World = { journal: Journal; head: Head; agents: Agents; now(): number };

/** Who calls, and what belongs to the connection of the call. */
export type Caller = { principal: Principal; subscriptions: Subscriptions };

type Methods = { [M in MethodName]?: (params: Params<M>, caller: Caller) => Promise<Result<M>> };

const defaultPage = 100;
/** One slice of a large event. UTF-16 units. */
const sliceUnits = 256 * 1024;

/** Every method of the wire. Parameters are checked, and the scope is there. */
export function wireMethods({ journal, agents, now }: World): Methods {
  return {
    'task.start': async (params, { principal, subscriptions }) => {
      const started = await agents.start(principal, params);
      if (!params.subscribe) return started;
      const deltas = params.subscribe === true ? undefined : params.subscribe.deltas;
      return { ...started, subscription: await subscriptions.open({ tree: started.tree, deltas }) };
    },
    'task.cancel': (params, { principal }) => agents.cancel(principal, params),
    'permission.answer': (params, { principal }) => agents.answer(principal, params),
    'permission.list': async ({ tree, limit = defaultPage, before }, { principal }) => {
      if (tree !== undefined) await demandTree(journal, principal, tree);
      const scope = tree !== undefined ? { tree } : ownScope(principal);
      const rows = await journal.permissions(scope, limit + 1, before);
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return { permissions: rows.slice(0, limit).map(permissionView), ...(last && { next: last.seq }) };
    },
    'agent.get': async ({ agent }, { principal }) => {
      const { tree } = await demandAgent(journal, principal, agent);
      const view = snapshotView(await journal.snapshot({ tree })).agents.find(({ id }) => id === agent);
      if (!view) throw new Error(`agent ${agent} is not in its tree ${tree}`);
      return view;
    },
    'agent.result': async ({ agent }, { principal }) => {
      const row = await demandAgent(journal, principal, agent);
      const result = resultView(row);
      if (result) return result;
      const words = `The agent is ${row.state}. Its result is there once it has ended: wait for its agent.result.`;
      throw new RequestError('conflict', words, { state: row.state });
    },
    'tree.subscribe': (params, { subscriptions }) => subscriptions.open(params),
    'tree.unsubscribe': async ({ tree }, { subscriptions }) => {
      subscriptions.close(tree);
      return {};
    },
    'tree.get': async ({ tree }, { principal, subscriptions }) => {
      if (tree !== '*') await demandTree(journal, principal, tree);
      return subscriptions.snapshot(tree);
    },
    'event.get': async ({ seq, from = 0 }, { principal }) => {
      const fact = await journal.fact(seq);
      if (!fact || !reaches(principal, fact.owner)) {
        throw new RequestError('not_found', `There is no event ${seq} that you may see.`, { seq });
      }
      return slice(fact.data, from);
    },
    ping: async () => ({ at: now() }),
  };
}

function ownScope({ owner, scopes }: Principal): { owner?: string } {
  return scopes.includes('admin') ? {} : { owner };
}

/** Never between the halves of a surrogate pair, which MessagePack could not carry. */
function slice(data: string, from: number): Result<'event.get'> {
  const whole = from + sliceUnits >= data.length;
  const to = whole
    ? data.length
    : from + sliceUnits - Number(isHighSurrogate(data.charCodeAt(from + sliceUnits - 1)));
  return { from, to, size: data.length, json: data.slice(from, to) };
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
