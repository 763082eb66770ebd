import type { Agents } from '../agents/agents.ts';
import { type Principal, reaches } from '../agents/principal.ts';
import { permissionView, resultView, snapshotView } from '../agents/views.ts';
import type { Head } from '../feed/head.ts';
import type { AgentRow, Journal } from '../journal/journal.ts';
import type { AgentView } from '../protocol/agent.ts';
import { RequestError } from '../protocol/errors.ts';
import type { MethodName, Params, Result } from '../protocol/methods.ts';
import { demandAgent, demandTree } from './access.ts';
import type { Subscriptions } from './subscriptions.ts';

/** What the methods work on. */
export type World = { journal: Journal; head: Head; agents: Agents; now(): number };

/** Who calls, and what belongs to the connection of the call. */
export type Caller = { principal: Principal; subscriptions: Subscriptions };

type Methods = { [M in MethodName]: (params: Params<M>, caller: Caller) => Promise<Result<M>> };

const defaultPage = 100;
/** One slice of a large event. UTF-16 units. */
const sliceUnits = 256 * 1024;

/** Every method of the wire. Parameters are checked, and the scope is there. */
export function wireMethods(world: World): Methods {
  const { journal, agents, now } = world;
  return {
    'task.start': async (params, { principal, subscriptions }) => {
      const started = await agents.start(principal, params);
      return { ...started, ...(await subscribed(params.subscribe, started.tree, subscriptions)) };
    },
    'task.send': (params, { principal }) => agents.send(principal, params),
    'task.interrupt': (params, { principal }) => agents.interrupt(principal, params),
    'task.close': (params, { principal }) => agents.close(principal, params),
    'task.configure': (params, { principal }) => agents.configure(principal, params),
    'task.resume': async (params, { principal, subscriptions }) => {
      const resumed = await agents.resume(principal, params);
      return { ...resumed, ...(await subscribed(params.subscribe, resumed.tree, subscriptions)) };
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
      return viewOf(world, await demandAgent(journal, principal, agent));
    },
    'agent.list': async ({ tree, parent, state, limit = defaultPage, before }, { principal }) => {
      if (tree !== undefined) await demandTree(journal, principal, tree);
      const scope = tree !== undefined ? { tree } : ownScope(principal);
      const states = typeof state === 'string' ? [state] : state;
      const rows = await journal.agents(scope, { parent, states }, { limit: limit + 1, before });
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      const views = await Promise.all(rows.slice(0, limit).map((row) => viewOf(world, row)));
      return { agents: views, ...(last && { next: last.seq }) };
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

async function subscribed(
  subscribe: Params<'task.start'>['subscribe'],
  tree: string,
  subscriptions: Subscriptions,
): Promise<Pick<Result<'task.start'>, 'subscription'>> {
  if (!subscribe) return {};
  const deltas = subscribe === true ? undefined : subscribe.deltas;
  return { subscription: await subscriptions.open({ tree, deltas }) };
}

/** With its place in the tree, so the tree is read. */
async function viewOf({ journal, agents }: World, { id, tree }: AgentRow): Promise<AgentView> {
  const snapshot = snapshotView(await journal.snapshot({ tree }), (agent) => agents.position(agent));
  const view = snapshot.agents.find((agent) => agent.id === id);
  if (!view) throw new Error(`agent ${id} is not in its tree ${tree}`);
  return view;
}

function ownScope({ owner, scopes }: Principal): { owner?: string } {
  return scopes.includes('admin') ? {} : { owner };
}

/** Never between the halves of a surrogate pair, which MessagePack could not carry. */
function slice(data: string, from: number): Result<'event.get'> {
  const size = data.length;
  if (from > size)
    throw new RequestError('invalid', `from is ${from}, beyond the size of the event, ${size}.`, { size });
  const whole = from + sliceUnits >= data.length;
  const to = whole
    ? data.length
    : from + sliceUnits - Number(isHighSurrogate(data.charCodeAt(from + sliceUnits - 1)));
  return { from, to, size, json: data.slice(from, to) };
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
