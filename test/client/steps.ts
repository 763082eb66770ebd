import type { Clock, ConnectionState } from '../../client/index.ts';

interface Timer {
  at: number;
  run: () => void;
}

/** Time that stands until a test moves it, and chance that is always the same. */
export class SteppedClock implements Clock {
  readonly chance: number;
  #now = 0;
  readonly #timers = new Set<Timer>();

  constructor(chance = 1) {
    this.chance = chance;
  }

  now(): number {
    return this.#now;
  }

  random(): number {
    return this.chance;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How long it is to each timer, the next one first. */
  get pending(): number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((one, other) => one - other);
  }

  step(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].sort((one, other) => one.at - other.at)[0];
      if (!next || next.at > end) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.run();
    }
    this.#now = end;
  }
}

/** The first `count` items. */
export async function take<T>(items: AsyncIterator<T>, count: number): Promise<T[]> {
  const taken: T[] = [];
  while (taken.length < count) {
    const { done, value } = await items.next();
    if (done) throw new Error(`only ${taken.length} came`);
    taken.push(value);
  }
  return taken;
}

/** Time runs as ever, but nobody pauses before coming back. */
export const eagerClock: Clock = {
  now: () => performance.now(),
  random: () => 0,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** States as they came, and a wait for one. */
export function watchStates() {
  const states: ConnectionState[] = [];
  let wake = Promise.withResolvers<void>();
  return {
    states,
    onState(state: ConnectionState) {
      states.push(state);
      wake.resolve();
      wake = Promise.withResolvers();
    },
    async last<Is extends ConnectionState['is']>(is: Is) {
      while (states.at(-1)?.is !== is) await wake.promise;
      return states.at(-1) as Extract<ConnectionState, { is: Is }>;
    },
  };
}
