import type { Task, TreeEvent } from '../../client/index.ts';

/** Ctrl-C ends the turn, a second one the task, a third one this program alone. */
export class Interruption {
  readonly #task: Task;
  readonly #tell: (words: string) => void;
  readonly #listener = () => this.#pressed();
  #presses = 0;
  /** The turn that the presses are about; a Ctrl-C before the first one begins is about that one. */
  #turn = 1;
  #isOver = false;

  constructor(task: Task, tell: (words: string) => void) {
    this.#task = task;
    this.#tell = tell;
    process.on('SIGINT', this.#listener);
  }

  /** A turn that begins is a new one to interrupt. */
  saw(event: TreeEvent): void {
    if (event.type !== 'agent.state' || event.agent !== this.#task.id || event.data.state !== 'running')
      return;
    if (event.turn === undefined || event.turn === this.#turn) return;
    this.#turn = event.turn;
    this.#presses = 0;
  }

  /** Whether it is we who ended the turn. */
  get isAsked(): boolean {
    return this.#presses > 0;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    process.off('SIGINT', this.#listener);
  }

  #pressed(): void {
    this.#presses += 1;
    if (this.#presses > 2) process.exit(130);
    const isFirst = this.#presses === 1;
    this.#tell(
      isFirst ? 'Interrupting; Ctrl-C again cancels.' : 'Cancelling; Ctrl-C again leaves it to the gateway.',
    );
    const asked = isFirst ? this.#task.interrupt() : this.#task.cancel('Ctrl-C');
    // Once the task has ended, nobody cares for the answer.
    asked.catch((error: Error) => {
      if (!this.#isOver) this.#tell(error.message);
    });
  }
}
