import type { StoredTask } from './task.ts';

/** Whether a task is to end because nobody follows it any more (`onDisconnect`). */
export class Abandonment {
  readonly #graceMs: number;
  #wasWatched: boolean;
  #leftAt = Number.POSITIVE_INFINITY;

  /** `wasWatched`: somebody may have followed it before our time, so that their absence counts. */
  constructor({ onDisconnect = 'continue' }: StoredTask, wasWatched: boolean) {
    this.#graceMs = onDisconnect === 'continue' ? Number.POSITIVE_INFINITY : onDisconnect.cancelAfterMs;
    this.#wasWatched = wasWatched;
  }

  /** Somebody follows it from now on, however short: the time begins anew. */
  followed(): void {
    this.#wasWatched = true;
    this.#leftAt = Number.POSITIVE_INFINITY;
  }

  /** To be asked again and again; the time runs from the first look that found nobody. */
  isDue(isWatched: boolean): boolean {
    if (isWatched) this.followed();
    else if (this.#wasWatched) this.#leftAt = Math.min(this.#leftAt, performance.now());
    return performance.now() - this.#leftAt >= this.#graceMs;
  }
}
