/** Something that happens again and again, to be waited for. */
export class Pulse {
  #beats = 0;
  #next = Promise.withResolvers<void>();

  beat(): void {
    this.#beats += 1;
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** Looks now and after each beat. */
  async until(look: () => boolean): Promise<void> {
    while (!look()) await this.#next.promise;
  }

  async beats(count: number): Promise<void> {
    const last = this.#beats + count;
    await this.until(() => this.#beats >= last);
  }
}
