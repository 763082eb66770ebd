import { isTerminal } from '../../src/agents/state.ts';
import type { Delta, Fact } from '../../src/protocol/events.ts';
import type { Params } from '../../src/protocol/methods.ts';
import type { TestClient } from '../support/client.ts';
import { Peer } from './peer.ts';
import { PlacedText } from './placed-text.ts';
import type { Pulse } from './pulse.ts';

type Cursor = NonNullable<Params<'tree.subscribe'>['after']>;

/** Follows trees with a cursor each, or all of them with one, and comes back to exactly the next event. */
export class Observer extends Peer {
  readonly facts: Fact[] = [];
  readonly text = new PlacedText();
  readonly ended = new Set<string>();
  readonly #deltas: boolean;
  readonly #cursors = new Map<string, Cursor>();
  #follow: ((tree: string) => Promise<void>) | undefined;

  /** With deltas it follows single trees, without them all. */
  constructor(pulse: Pulse, { deltas }: { deltas: boolean }) {
    super(pulse, deltas ? 'json' : 'msgpack');
    this.#deltas = deltas;
    if (!deltas) this.#cursors.set('*', 'start');
  }

  async follow(tree: string): Promise<void> {
    this.#cursors.set(tree, 'start');
    await this.#follow?.(tree);
  }

  get followed(): readonly string[] {
    return [...this.#cursors.keys()];
  }

  factsOf(tree: string): Fact[] {
    return this.facts.filter(({ agent }) => agent === tree);
  }

  protected async session(client: TestClient): Promise<void> {
    const { epoch } = await client.welcome();
    const subscribed = new Set<string>();
    this.#follow = async (tree) => {
      if (subscribed.has(tree)) return;
      subscribed.add(tree);
      await this.#subscribe(client, tree);
    };
    await Promise.all([...this.#cursors.keys()].map(this.#follow));
    for (let next = 0; ; ) {
      await client.until(() => client.events.length > next);
      for (const { tree, event } of client.events.slice(next)) {
        next += 1;
        this.#take(this.#deltas ? tree : '*', event, epoch);
      }
    }
  }

  async #subscribe(client: TestClient, tree: string): Promise<void> {
    const after = this.#cursors.get(tree);
    const answer = await client.call('tree.subscribe', { tree, after, deltas: this.#deltas });
    if (answer.verdict !== 'ok') this.tell(`the cursor ${JSON.stringify(after)} got ${answer.reason}`);
    if (answer.snapshot) this.tell('got a snapshot, though its cursor continues');
  }

  #take(of: string, event: Fact | Delta, epoch: string): void {
    this.pulse.beat();
    if (event.type === 'delta') {
      if (this.#deltas) this.text.place(event);
      else this.tell('got live text that it did not ask for');
      return;
    }
    const cursor = this.#cursors.get(of);
    if (typeof cursor === 'object' && event.seq <= cursor.seq) this.tell(`${event.seq} after ${cursor.seq}`);
    this.#cursors.set(of, { epoch, seq: event.seq });
    this.facts.push(event);
    if (event.type === 'message' && event.message !== undefined) this.text.replace(event);
    if (event.type === 'agent.state' && isTerminal(event.data.state) && !event.data.resuming) {
      this.ended.add(event.agent);
    }
  }
}
