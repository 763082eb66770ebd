import { randomUUID } from 'node:crypto';
import { CommitRefused, type RunRef } from '../journal/journal.ts';
import type { AgentStateName } from '../protocol/agent.ts';
import type { Content } from '../protocol/content.ts';
import { RequestError } from '../protocol/errors.ts';
import type { Delta } from '../protocol/events.ts';
import type { Params, Result } from '../protocol/methods.ts';
import { admit, type Rules } from './admission.ts';
import { Agent } from './agent.ts';
import { decisionOf, settledOutcome, takeAnswer } from './answer.ts';
import { configure } from './configure.ts';
import { create, creation } from './create.ts';
import { Draft } from './draft.ts';
import { lowDiskBytes } from './due.ts';
import { cancel, complete, interruptCut } from './ending.ts';
import { type Call, type Keep, keyed } from './keys.ts';
import { queueMessage } from './messages.ts';
import { demandMode, modeOf } from './modes.ts';
import { maxQueued } from './places.ts';
import type { Ports } from './ports.ts';
import { type Principal, reaches } from './principal.ts';
import { type AgentRecord, freshRecord } from './record.ts';
import { reopen } from './resume.ts';
import { type StoredTask, storedTask } from './task.ts';
import { interrupt } from './turns.ts';

/** Unfinished text by agent. */
export type LiveTexts = { tree: string; owner: string; deltas: Delta[] }[];

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
    await Promise.all(runs.map((row) => this.#takeUp(row, true)));
    const queued = await this.#ports.journal.agents({}, { states: ['queued'] }, { limit: maxQueued });
    for (const { id } of queued.reverse()) {
      this.#ports.places.queue(id, () => this.#working.get(id)?.begin());
      await this.#takeUp({ agent: id, run: 0 }, true);
    }
    this.#ports.places.fill();
  }

  /** 1-based place in the line of those that wait to begin. */
  position(id: string): number | undefined {
    return this.#ports.places.position(id);
  }

  /** Lets go of all agents; they work on. */
  async stop(): Promise<void> {
    await Promise.all([...this.#working.values()].map((agent) => agent.stop()));
  }

  /** Unfinished text of a tree (of all of them, without one), each block from position 0. */
  liveText(tree?: string): LiveTexts {
    const agents = [...this.#working.values()].filter(({ identity }) => !tree || identity.tree === tree);
    return agents.map((agent) => ({ ...agent.identity, deltas: agent.liveText() }));
  }

  /** Somebody has subscribed to the agents of these trees, be it for a moment only. */
  followed(takes: (tree: string, owner: string) => boolean): void {
    for (const agent of this.#working.values()) {
      if (takes(agent.identity.tree, agent.identity.owner)) agent.followed();
    }
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
    demandRoom(this.#ports.freeBytes());
    const id = randomUUID();
    const cwd = admit(params, id, this.#rules);
    const task = storedTask(params, cwd);
    demandNoCommand(task, params.prompt);
    const place = this.#takePlace(id);
    try {
      const agent = { id, tree: id, owner: principal.owner, path: [id], task };
      const draft = new Draft({ agent, record: freshRecord(randomUUID()), text: '', at: this.#ports.now() });
      const run = create(draft, params.prompt, place);
      const started = { agent: id, tree: id, state: draft.record.state.is, ...place };
      const facts = await this.#ports.journal.commit(creation(draft, keep(started)));
      this.#ports.publish(agent, draft.events(facts));
      await this.#takeUp(run ?? { agent: id, run: 0 });
      return started;
    } catch (error) {
      if (!this.#working.has(id)) this.#ports.places.leave(id);
      throw error;
    }
  }

  /** A place, or one in the line. */
  #takePlace(id: string): { position?: number } {
    const { places } = this.#ports;
    if (places.take(id)) return {};
    if (places.queued >= maxQueued) {
      const words = `${maxQueued} tasks wait for a place already. Try again when some have begun.`;
      throw new RequestError('queue_full', words, { limit: maxQueued });
    }
    places.queue(id, () => this.#working.get(id)?.begin());
    return { position: places.queued };
  }

  cancel(principal: Principal, params: Params<'task.cancel'>): Promise<Result<'task.cancel'>> {
    return this.#keyed({ principal, method: 'task.cancel', params }, async (keep) => {
      await this.#demand(principal, params.agent);
      const agent = this.#working.get(params.agent);
      if (!agent) return { cancelled: [] };
      return agent.act((draft) => {
        const open = !draft.hasEnded || !agent.isOver;
        cancel(draft, params.reason);
        return { cancelled: open ? [params.agent] : [] };
      }, keep);
    });
  }

  send(principal: Principal, params: Params<'task.send'>): Promise<Result<'task.send'>> {
    const { content, steer } = params;
    return this.#act('task.send', principal, params, (draft) => {
      demandNoCommand(draft.agent.task, content);
      return queueMessage(draft, { from: principal.name, content, steer });
    });
  }

  interrupt(principal: Principal, params: Params<'task.interrupt'>): Promise<Result<'task.interrupt'>> {
    return this.#act('task.interrupt', principal, params, (draft) => {
      const open = draft.turn?.number;
      if (params.turn !== undefined && open !== undefined && params.turn !== open) {
        const words = `Turn ${open} is open, not ${params.turn}. Look again, then decide.`;
        throw new RequestError('stale_turn', words, { turn: open });
      }
      return { interrupted: interrupt(draft) || interruptCut(draft) };
    });
  }

  close(principal: Principal, params: Params<'task.close'>): Promise<Result<'task.close'>> {
    return this.#act('task.close', principal, params, (draft) => {
      if (draft.turn || draft.hasEnded) draft.record.closing = true;
      else complete(draft);
      return { state: draft.record.state.is };
    });
  }

  configure(principal: Principal, params: Params<'task.configure'>): Promise<Result<'task.configure'>> {
    return this.#act('task.configure', principal, params, (draft) => configure(draft, params, this.#rules));
  }

  /** A new run of an agent that has ended. */
  resume(principal: Principal, params: Params<'task.resume'>): Promise<Result<'task.resume'>> {
    const call = { principal, method: 'task.resume', params: withoutSubscribe(params) };
    return this.#keyed(call, async (keep) => {
      await this.#demand(principal, params.agent);
      const working = this.#working.get(params.agent);
      if (working && !working.isOver) throw goesOn(params.agent);
      await working?.closed;
      return this.#reopen(principal, params, keep);
    });
  }

  async #reopen(
    principal: Principal,
    params: Params<'task.resume'>,
    keep: Keep,
  ): Promise<Result<'task.resume'>> {
    const row = await this.#ports.journal.agent(params.agent);
    if (!row || this.#working.has(row.id)) throw goesOn(params.agent);
    const task = JSON.parse(row.task) as StoredTask;
    const agent = { id: row.id, tree: row.tree, owner: row.owner, path: [row.id], task };
    const record = JSON.parse(row.record) as AgentRecord;
    demandNoCommand(task, params.prompt);
    // What was allowed when it was started may not be now.
    demandMode(modeOf({ agent, record }), this.#rules);
    const draft = new Draft({ agent, record, text: '', at: this.#ports.now() });
    const run = reopen(draft, principal.name, params.prompt);
    const resumed = { agent: row.id, tree: row.tree, state: draft.record.state.is };
    const commit = draft.commit([draft.update(row.version), ...keep(resumed)]);
    const facts = await this.#ports.journal.commit(commit).catch((error: unknown) => {
      // Somebody else resumed it a moment before.
      throw error instanceof CommitRefused && error.rule === 'stale' ? goesOn(row.id) : error;
    });
    this.#ports.publish(agent, draft.events(facts));
    await this.#takeUp(run);
    return resumed;
  }

  answer(principal: Principal, params: Params<'permission.answer'>): Promise<Result<'permission.answer'>> {
    return this.#keyed({ principal, method: 'permission.answer', params }, async (keep) => {
      const row = await this.#ports.journal.permission(params.permission);
      if (!row || !reaches(principal, row.owner)) throw notFound('permission', params.permission);
      const decided = decisionOf(params, row, principal);
      if (row.settled) return settledOutcome(decided.resolved, row.settled);
      const outcome = await this.#working.get(row.agent)?.act(
        // Another answer may have come while this step waited for its place.
        (draft) => (draft.record.asks[row.requestId] ? takeAnswer(draft, row.requestId, decided) : undefined),
        (done) => (done ? keep(done) : []),
      );
      if (outcome) return outcome;
      const settled = (await this.#ports.journal.permission(row.id))?.settled;
      if (!settled) throw new Error(`permission ${row.id} is open, but its agent does not ask`);
      return settledOutcome(decided.resolved, settled);
    });
  }

  /** A keyed step of an agent that has not ended. */
  #act<T extends object>(
    method: string,
    principal: Principal,
    params: { agent: string; key?: string | undefined },
    decide: (draft: Draft) => T,
  ): Promise<T> {
    return this.#keyed({ principal, method, params }, async (keep) => {
      const state = await this.#demand(principal, params.agent);
      const agent = this.#working.get(params.agent);
      if (!agent) throw notRunning(params.agent, state);
      return agent.act((draft) => {
        if (agent.isOver) throw notRunning(params.agent, draft.record.state.is);
        return decide(draft);
      }, keep);
    });
  }

  async #demand(principal: Principal, id: string): Promise<AgentStateName> {
    const row = await this.#ports.journal.agent(id);
    if (!row || !reaches(principal, row.owner)) throw notFound('agent', id);
    return row.state;
  }

  #keyed<T extends object>(call: Call, carryOut: (keep: Keep) => Promise<T>): Promise<T> {
    return keyed(this.#ports.journal, call, this.#ports.now(), carryOut);
  }

  /** Run 0 is that of an agent that waits for its first one. */
  async #takeUp(run: RunRef, wasWatched = false): Promise<void> {
    const row = await this.#ports.journal.agent(run.agent);
    if (!row) throw new Error(`run ${run.run} of ${run.agent} has no agent`);
    const agent = new Agent(row, [run.agent], this.#ports, wasWatched);
    this.#working.set(run.agent, agent);
    void agent.closed.then(() => this.#working.delete(run.agent));
    if (run.run > 0) await agent.attach(run);
    // Its place may have come before it was there to take it.
    else if (this.#ports.places.position(run.agent) === undefined) agent.begin();
  }
}

/** A subscription belongs to its connection, not to the call's outcome. */
function withoutSubscribe<P extends { subscribe?: unknown }>({ subscribe: _subscribe, ...params }: P) {
  return params;
}

/** Text that begins with a slash is a command of the CLI's, `/clear` among them. */
function demandNoCommand({ allowCommands }: StoredTask, content: Content | undefined): void {
  const first = typeof content === 'string' ? content : content?.find(({ type }) => type === 'text')?.text;
  if (allowCommands || typeof first !== 'string' || !first.trimStart().startsWith('/')) return;
  const words =
    'A text that begins with "/" is a command of Claude Code. Start the task with allowCommands for it.';
  throw new RequestError('refused', words, { rule: 'commands' });
}

function demandRoom(freeBytes: number): void {
  if (freeBytes >= lowDiskBytes) return;
  throw new RequestError('unavailable', 'The disk is nearly full. Make room, then try again.', { freeBytes });
}

function goesOn(id: string): RequestError {
  return new RequestError('conflict', `The agent ${id} has not ended. Send it a message instead.`, { id });
}

function notRunning(id: string, state: AgentStateName): RequestError {
  const words = `The agent has ended (${state}). Resume it with task.resume, or start a new task.`;
  return new RequestError('not_running', words, { id, state });
}

function notFound(what: string, id: string): RequestError {
  return new RequestError('not_found', `There is no ${what} ${id} that you may see.`, { id });
}
