import type { AgentResult, AgentStateData, TerminalState } from '../src/protocol/agent.ts';
import type { Content } from '../src/protocol/content.ts';
import type { Result } from '../src/protocol/methods.ts';
import type { Gateway } from './gateway.ts';
import type { SubscribeOptions } from './options.ts';
import { type Permission, permissionsOf } from './permission.ts';
import type { TreeEvent } from './reader.ts';
import { SpokenText } from './text.ts';

const terminal: Record<TerminalState, true> = {
  completed: true,
  failed: true,
  cancelled: true,
  timed_out: true,
  over_budget: true,
  interrupted: true,
};

/** A task that was started: its agent's events, its text, its result, and what one can do about it. */
export class Task implements AsyncIterable<TreeEvent> {
  /** The agent's. */
  readonly id: string;
  readonly tree: string;
  readonly #gateway: Gateway;

  constructor(gateway: Gateway, { agent, tree }: Pick<Result<'task.start'>, 'agent' | 'tree'>) {
    this.#gateway = gateway;
    this.id = agent;
    this.tree = tree;
  }

  /** All events of its tree, from the beginning to the state that ends this agent. */
  [Symbol.asyncIterator](): AsyncGenerator<TreeEvent, void, void> {
    return this.#follow({ after: 'start' });
  }

  /** What Claude says, in pieces, from the beginning to the end; a blank line stands between two blocks. */
  get text(): AsyncIterable<string> {
    return this.#text();
  }

  /** Waits for the end, whatever it is: `state` tells. */
  async result({ signal }: { signal?: AbortSignal } = {}): Promise<AgentResult> {
    for await (const _ of this.#follow({ deltas: false, signal }));
    const { size: _size, ...view } = await this.#gateway.call(
      'agent.result',
      { agent: this.id },
      { repeat: true, signal },
    );
    if (view.text !== null) return { ...view, text: view.text };
    return { ...view, ...((await this.#gateway.data(view.seq)) as AgentResult) };
  }

  /** `steer` gives it to Claude within the running turn. */
  send(content: Content, { steer }: { steer?: boolean } = {}): Promise<Result<'task.send'>> {
    return this.#gateway.call('task.send', {
      agent: this.id,
      content,
      ...(steer !== undefined && { steer }),
    });
  }

  /** Ends the turn. The agent is then idle, and goes on with the next message. */
  interrupt(): Promise<Result<'task.interrupt'>> {
    return this.#gateway.call('task.interrupt', { agent: this.id });
  }

  cancel(reason?: string): Promise<Result<'task.cancel'>> {
    return this.#gateway.call('task.cancel', { agent: this.id, ...(reason !== undefined && { reason }) });
  }

  /** Called with each permission of its tree that waits, now or later, until the task ends. Gives what stops it. */
  onPermission(ask: (permission: Permission) => void | Promise<void>): () => void {
    const life = new AbortController();
    const events = this.#follow({ deltas: false, signal: life.signal });
    void permissionsOf(this.#gateway, events, ask);
    return () => life.abort();
  }

  async *#text(): AsyncGenerator<string, void, void> {
    const spoken = new SpokenText(this.id);
    for await (const event of this.#follow({ after: 'start' })) {
      const text = spoken.add(event);
      if (text !== '') yield text;
    }
  }

  async *#follow(options: SubscribeOptions): AsyncGenerator<TreeEvent, void, void> {
    for await (const event of this.#gateway.subscribe(this.tree, options)) {
      yield event;
      if (this.#endsWith(event)) return;
    }
  }

  #endsWith(event: TreeEvent): boolean {
    if (event.type === 'agent.state') return event.agent === this.id && isEnd(event.data);
    if (event.type !== 'snapshot') return false;
    const agent = event.snapshot.agents.find(({ id }) => id === this.id);
    return agent !== undefined && isEnd(agent);
  }
}

/** An interrupted agent that will be resumed has not ended. */
function isEnd({ state, resuming }: Pick<AgentStateData, 'state' | 'resuming'>): boolean {
  return Object.hasOwn(terminal, state) && !(state === 'interrupted' && resuming);
}
