/** Runs asynchronous steps one after the other, in the order they came. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Rejects as the step does; the next one runs all the same. */
  run<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#last.then(step);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
