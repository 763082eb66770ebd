import type { AgentRecord } from './record.ts';

/** Agents that wait for a place, beyond which a task is refused. */
export const maxQueued = 100;

/** Whether an agent in this state takes up a place: its process works, or is about to. */
export function holdsPlace({ state }: AgentRecord): boolean {
  if (state.is === 'interrupted') return state.resuming;
  return state.is === 'starting' || state.is === 'running';
}

/** How many tasks work at the same time; those beyond wait in line, first come first served. */
export class Places {
  readonly #limit: number;
  readonly #held = new Set<string>();
  readonly #line: { id: string; begin: () => void }[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a place for a new task, if one is free and nobody stands in line. */
  take(id: string): boolean {
    if (this.#line.length > 0 || this.#held.size >= this.#limit) return false;
    this.#held.add(id);
    return true;
  }

  /** For whoever goes on anyway: after a restart, resumed, or woken by a message. */
  hold(id: string): void {
    this.#held.add(id);
  }

  /** Stands in line; `begin` is called once it has a place. */
  queue(id: string, begin: () => void): void {
    this.#line.push({ id, begin });
  }

  /** Gives back its place, or leaves the line. */
  leave(id: string): void {
    const index = this.#line.findIndex((one) => one.id === id);
    if (index !== -1) this.#line.splice(index, 1);
    if (this.#held.delete(id)) this.fill();
  }

  /** Lets in who has a place by now. */
  fill(): void {
    while (this.#held.size < this.#limit) {
      const first = this.#line.shift();
      if (!first) return;
      this.#held.add(first.id);
      first.begin();
    }
  }

  get queued(): number {
    return this.#line.length;
  }

  /** 1-based place in the line. */
  position(id: string): number | undefined {
    const index = this.#line.findIndex((one) => one.id === id);
    return index === -1 ? undefined : index + 1;
  }
}
