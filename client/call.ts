import type { MethodName, methods, Params } from '../src/protocol/methods.ts';
import type { Calls } from './calls.ts';
import type { Clock } from './clock.ts';
import { TimeoutError } from './errors.ts';
import type { CallOptions } from './options.ts';

type Mutating = { [M in MethodName]: (typeof methods)[M]['mutates'] extends true ? M : never }[MethodName];

const mutating: Record<Mutating, true> = {
  'task.start': true,
  'task.send': true,
  'task.interrupt': true,
  'task.cancel': true,
  'task.close': true,
  'task.resume': true,
  'task.configure': true,
  'permission.answer': true,
};

/** One call as a promise, with its key, its time limit and its signal. */
export function call<M extends MethodName>(
  { calls, clock }: { calls: Calls; clock: Clock },
  { method, params, options }: { method: M; params: Params<M>; options: CallOptions },
): Promise<unknown> {
  const { signal, timeoutMs, repeat = false } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  const changes = Object.hasOwn(mutating, method);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  // Owns the timer and the listener.
  const life = new AbortController();
  const posted = calls.post({
    method,
    params: changes ? withKey(params as { key?: string }) : params,
    repeat: repeat || changes,
    settle: (outcome) => {
      life.abort();
      if ('error' in outcome) reject(outcome.error);
      else resolve(outcome.result);
    },
  });
  const giveUp = (why: unknown) => {
    life.abort();
    posted.giveUp();
    reject(why);
  };
  if (life.signal.aborted) return promise;
  signal?.addEventListener('abort', () => giveUp(signal.reason), { signal: life.signal });
  if (timeoutMs !== undefined) {
    const late = () => giveUp(new TimeoutError(method, { timeoutMs, sent: posted.sent }));
    life.signal.addEventListener('abort', clock.after(timeoutMs, late));
  }
  return promise;
}

function withKey(params: { key?: string }): object {
  return { ...params, key: params.key ?? newKey() };
}

/** 128 bits of chance. `randomUUID` would be missing on pages that came over plain HTTP. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
