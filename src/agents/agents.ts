import { randomUUID } from 'node:crypto';
import { LiveText } from '../claude/live-text.ts';
import type { RunRow } from '../journal/journal.ts';
import { RequestError } from '../protocol/errors.ts';
import type { Delta } from '../protocol/events.ts';
import type { Params, Result } from '../protocol/methods.ts';
import { admit, type Rules } from './admission.ts';
import { Agent } from './agent.ts';
import { decisionOf, settledOutcome } from './answer.ts';
import { Draft } from './draft.ts';
import { end } from './ending.ts';
import { type Call, type Keep, keyed } from './keys.ts';
import { answered } from './permissions.ts';
import type { Ports } from './ports.ts';
import { type Principal, reaches } from './principal.ts';
import { freshRecord } from './record.ts';
import { openRun } from './resume.ts';
import { storedTask, taskView } from './task.ts';
import { holdOwnMessage } from './turns.ts';

/** All agents that have an open run, and what clients may have done with them. */
export class Agents {
  readonly #ports: Ports;
  readonly #rules: Rules;
  readonly #working = new Map<string, Agent>();

  constructor(ports: Ports, rules: Rules) {
    this.#ports = ports;
    this.#rules = rules;
  }

  /** Takes up every open run: to be awaited before anybody is served. */
  async restart(): Promise<void> {
    const runs = await this.#ports.journal.openRuns();
    await Promise.all(runs.map((row) => this.#takeUp(row)));
  }

  /** Lets go of all agents; they work on. */
  async stop(): Promise<void> {
    await Promise.all([...this.#working.values()].map((agent) => agent.stop()));
  }

  /** Unfinished text of a tree (of all of them, without one), each block from position 0. */
  liveText(tree?: string): { tree: string; delta: Delta }[] {
    const agents = [...this.#working.values()].filter(({ identity }) => !tree || identity.tree === tree);
    return agents.flatMap((agent) => agent.liveText().map((delta) => ({ tree: agent.identity.tree, delta })));
  }

  start(principal: Principal, params: Params<'task.start'>): Promise<Result<'task.start'>> {
    const call = { principal, method: 'task.start', params: withoutSubscribe(params) };
    return this.#keyed(call, (keep) => this.#start(principal, params, keep));
  }

  async #start(
    principal: Principal,
    params: Params<'task.start'>,
    keep: Keep,
  ): Promise<Result<'task.start'>> {
    const id = randomUUID();
    const cwd = admit(params, id, this.#rules);
    const task = storedTask(params, cwd);
    const agent = { id, tree: id, owner: principal.owner, path: [id], task };
    const draft = new Draft({
      agent,
      record: freshRecord(randomUUID()),
      live: new LiveText(),
      text: '',
      inputTo: 0,
      at: this.#ports.now(),
    });
    const name = task.name !== undefined && { name: task.name };
    const created = draft.fact('agent.created', { path: agent.path, ...name, task: taskView(task) });
    const run = openRun(
      draft,
      params.prompt === undefined ? undefined : holdOwnMessage(draft, params.prompt),
    );
    const started = { agent: id, tree: id, state: draft.record.state.is };
    const row = {
      id,
      tree: id,
      owner: principal.owner,
      createdAt: draft.at,
      state: draft.record.state.is,
      task: JSON.stringify(task),
      record: JSON.stringify(draft.record),
    };
    const commit = draft.commit(keep(started));
    const facts = await this.#ports.journal.commit({
      ...commit,
      changes: [{ type: 'agent.create', fact: created, agent: row }, ...commit.changes],
    });
    this.#ports.publish(agent, draft.events(facts));
    await this.#takeUp(run);
    return started;
  }

  cancel(principal: Principal, params: Params<'task.cancel'>): Promise<Result<'task.cancel'>> {
    return this.#keyed({ principal, method: 'task.cancel', params }, async (keep) => {
      await this.#demand(principal, params.agent);
      const agent = this.#working.get(params.agent);
      if (!agent) return { cancelled: [] };
      return agent.act((draft) => {
        const open = !draft.hasEnded;
        end(draft, { is: 'cancelled', ...(params.reason && { detail: params.reason }) });
        return { cancelled: open ? [params.agent] : [] };
      }, keep);
    });
  }

  answer(principal: Principal, params: Params<'permission.answer'>): Promise<Result<'permission.answer'>> {
    const call = { principal, method: 'permission.answer', params };
    return this.#keyed(call, async (keep) => {
      const row = await this.#ports.journal.permission(params.permission);
      if (!row || !reaches(principal, row.owner)) throw notFound('permission', params.permission);
      const { decision, resolved } = decisionOf(params, row, principal.name);
      if (row.settled) return settledOutcome(resolved, row.settled);
      const agent = this.#working.get(row.agent);
      const outcome = await agent?.act(
        (draft) => {
          // Another answer may have come while this step waited for its place.
          if (!draft.record.asks[row.requestId]) return undefined;
          answered(draft, row.requestId, decision, resolved);
          return { outcome: resolved.outcome };
        },
        (done) => (done ? keep(done) : []),
      );
      if (outcome) return outcome;
      const settled = (await this.#ports.journal.permission(row.id))?.settled;
      if (!settled) throw new Error(`permission ${row.id} is open, but its agent does not ask`);
      return settledOutcome(resolved, settled);
    });
  }

  async #demand(principal: Principal, id: string): Promise<void> {
    const row = await this.#ports.journal.agent(id);
    if (!row || !reaches(principal, row.owner)) throw notFound('agent', id);
  }

  #keyed<T extends object>(call: Call, carryOut: (keep: Keep) => Promise<T>): Promise<T> {
    return keyed(this.#ports.journal, call, this.#ports.now(), carryOut);
  }

  async #takeUp(row: RunRow): Promise<void> {
    const agentRow = await this.#ports.journal.agent(row.agent);
    if (!agentRow) throw new Error(`run ${row.run} of ${row.agent} has no agent`);
    const agent = new Agent(agentRow, [row.agent], this.#ports, () => this.#working.delete(row.agent));
    this.#working.set(row.agent, agent);
    await agent.attach(row);
  }
}

/** A subscription belongs to its connection, not to the call's outcome. */
function withoutSubscribe({ subscribe: _subscribe, ...params }: Params<'task.start'>) {
  return params;
}

function notFound(what: string, id: string): RequestError {
  return new RequestError('not_found', `There is no ${what} ${id} that you may see.`, { id });
}
