/** Time and chance, so that tests can hold both in their hands. */
export interface Clock {
  /** Milliseconds; only differences count. */
  now(): number;
  /** At least 0, below 1. */
  random(): number;
  /** Gives what calls it off. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  random: () => Math.random(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

const firstMs = 250;
const mostMs = 15_000;

/** Exponential, with full jitter: a thousand clients of one restart don't come back as one. `attempt` is 1-based. */
export function backoffMs(attempt: number, clock: Clock): number {
  return clock.random() * Math.min(mostMs, firstMs * 2 ** (attempt - 1));
}
