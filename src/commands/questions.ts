import { createInterface, type Interface } from 'node:readline';

/** Lines that wait for a question; more stay in the pipe. */
const mostLines = 100;

/**
 * Asks people one thing after another, on stderr, and reads their lines from stdin. In a terminal a line that nobody
 * asked for is dropped: it must not answer a later question.
 */
export class Questions {
  readonly #lines: string[] = [];
  readonly #input: Interface;
  #taker: ((line: string | undefined) => void) | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #ended = false;

  constructor() {
    // The terminal itself does the editing, so Ctrl-C stays a signal.
    this.#input = createInterface({ input: process.stdin, terminal: false });
    this.#input.on('line', (line) => this.#take(line));
    this.#input.on('close', () => {
      this.#ended = true;
      this.#taker?.(undefined);
    });
  }

  /** The next line; undefined once nobody is there any more, or when the question has settled itself. */
  ask(question: string, signal: AbortSignal): Promise<string | undefined> {
    const answer = this.#last.then(() => this.#ask(question, signal));
    this.#last = answer;
    return answer;
  }

  close(): void {
    this.#input.close();
  }

  async #ask(question: string, signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted) return undefined;
    process.stderr.write(question);
    const line = this.#lines.shift();
    if (line !== undefined || this.#ended) {
      if (!this.#ended) this.#input.resume();
      process.stderr.write('\n');
      return line;
    }
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const withdraw = () => {
      process.stderr.write('\n');
      resolve(undefined);
    };
    this.#taker = resolve;
    signal.addEventListener('abort', withdraw);
    const taken = await promise;
    signal.removeEventListener('abort', withdraw);
    this.#taker = undefined;
    return taken;
  }

  #take(line: string): void {
    if (this.#taker) return this.#taker(line);
    if (process.stdin.isTTY) return;
    this.#lines.push(line);
    if (this.#lines.length >= mostLines) this.#input.pause();
  }
}
