import type { Params, Result } from '../src/protocol/methods.ts';
import type { PermissionRequested, PermissionView, ToolInput } from '../src/protocol/permission.ts';
import type { Gateway } from './gateway.ts';
import type { TreeEvent } from './reader.ts';

type Allowance = Pick<
  Params<'permission.answer'>,
  'updatedInput' | 'answers' | 'remember' | 'rule' | 'message'
>;

/** A question that waits for one answer, from whomever it comes. */
export class Permission {
  readonly id: string;
  readonly agent: string;
  readonly kind: PermissionRequested['kind'];
  readonly tool: string;
  readonly input: ToolInput;
  /** The rest of what was asked. */
  readonly asked: PermissionRequested;
  /** Aborted once it has been answered, here or elsewhere, or has died with its turn. */
  readonly signal: AbortSignal;
  readonly #gateway: Gateway;

  constructor(gateway: Gateway, asked: PermissionRequested & { agent: string }, signal: AbortSignal) {
    this.id = asked.permission;
    this.agent = asked.agent;
    this.kind = asked.kind;
    this.tool = asked.tool;
    this.input = asked.input;
    this.asked = asked;
    this.signal = signal;
    this.#gateway = gateway;
  }

  allow(allowance: Allowance = {}): Promise<Result<'permission.answer'>> {
    return this.#answer({ behavior: 'allow', ...allowance });
  }

  /** `message` is told to Claude; `interrupt` ends the turn too. */
  deny(message?: string, { interrupt }: { interrupt?: boolean } = {}): Promise<Result<'permission.answer'>> {
    return this.#answer({
      behavior: 'deny',
      ...(message !== undefined && { message }),
      ...(interrupt !== undefined && { interrupt }),
    });
  }

  #answer(answer: Omit<Params<'permission.answer'>, 'permission'>) {
    return this.#gateway.call('permission.answer', { permission: this.id, ...answer });
  }
}

/** Hands out each permission once, as long as the events go on. */
export async function permissionsOf(
  gateway: Gateway,
  events: AsyncIterable<TreeEvent>,
  ask: (permission: Permission) => void | Promise<void>,
): Promise<void> {
  const open = new Map<string, AbortController>();
  const hand = (asked: PermissionRequested & { agent: string }) => {
    if (open.has(asked.permission)) return;
    const life = new AbortController();
    open.set(asked.permission, life);
    // A throw of the program's own is its bug, not the end of this loop.
    queueMicrotask(() => void ask(new Permission(gateway, asked, life.signal)));
  };
  const settle = (permission: string) => {
    open.get(permission)?.abort();
    open.delete(permission);
  };
  try {
    for await (const event of events) {
      if (event.type === 'permission.requested') hand({ ...event.data, agent: event.agent });
      else if (event.type === 'permission.resolved') settle(event.data.permission);
      else if (event.type === 'snapshot') {
        const waiting = event.snapshot.permissions;
        for (const id of [...open.keys()])
          if (!waiting.some(({ permission }) => permission === id)) settle(id);
        for (const view of waiting) hand(await whole(gateway, view));
      }
    }
  } catch {
    // The same ends the task's own events, where the program hears of it.
  }
  for (const id of [...open.keys()]) settle(id);
}

async function whole(
  gateway: Gateway,
  view: PermissionView,
): Promise<PermissionRequested & { agent: string }> {
  const { input, ...rest } = view;
  if (input !== null) return { ...rest, input };
  return { ...((await gateway.data(view.seq)) as PermissionRequested), agent: view.agent };
}
