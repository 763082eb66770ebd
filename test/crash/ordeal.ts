import { setTimeout as delay } from 'node:timers/promises';
import type { ClaudeVersion } from '../support/claude-home.ts';
import { Stage, until } from '../support/stage.ts';
import { Door, insist } from './door.ts';
import { Human } from './human.ts';
import { JournalLook } from './journal-look.ts';
import { Observer } from './observer.ts';
import { Pulse } from './pulse.ts';
import type { CrashTask } from './tasks.ts';

export type StartedTask = CrashTask & { agent: string };

/** So long may a step take until it is said to hang. */
const patienceMs = 180_000;

/** A gateway that will die, the two who watch it, and the one who answers its questions. */
export class Ordeal {
  readonly stage: Stage;
  readonly pulse = new Pulse();
  readonly trees = new Observer(this.pulse, { deltas: true });
  readonly everything = new Observer(this.pulse, { deltas: false });
  readonly human = new Human(this.pulse, 'json');
  readonly peers = [this.trees, this.everything, this.human] as const;
  readonly #door = new Door();
  #death: Promise<void> = Promise.resolve();

  private constructor(stage: Stage) {
    this.stage = stage;
    this.#serves();
    for (const peer of this.peers) void peer.stayAt(this.#door);
  }

  static async open(claude: ClaudeVersion = '2.1.332'): Promise<Ordeal> {
    return new Ordeal(await Stage.open({ claude }));
  }

  #serves(): void {
    const { gateway } = this.stage;
    this.#death = gateway.ended().then(() => this.#door.closes());
    this.#door.opens(gateway);
  }

  async start(fault?: string): Promise<void> {
    await this.stage.gateway.start(fault);
    this.#serves();
  }

  async kill(): Promise<void> {
    await this.stage.gateway.kill();
    await this.#death;
  }

  /** The gateway dies of itself. */
  died(): Promise<void> {
    return this.#within(this.#death, 'the death of the gateway');
  }

  async everybodyIsBack(): Promise<void> {
    const back = () => this.problems.length > 0 || this.peers.every(({ served }) => served);
    await this.#within(this.pulse.until(back), 'all clients to come back');
  }

  async begin(task: CrashTask): Promise<StartedTask> {
    const { agent } = await insist(this.#door, (client) => client.call('task.start', task.params));
    await this.trees.follow(agent).catch(() => {
      // Its connection is lost: it follows when it is back.
    });
    return { ...task, agent };
  }

  async cancel(agent: string): Promise<string[]> {
    const params = { agent, key: `cancel-${agent}` };
    return (await insist(this.#door, (client) => client.call('task.cancel', params))).cancelled;
  }

  /** Both observers have seen the end of each, or something that must not be. */
  async ended(tasks: readonly StartedTask[]): Promise<void> {
    const sawAll = ({ ended }: Observer) => tasks.every(({ agent }) => ended.has(agent));
    const over = () => this.problems.length > 0 || (sawAll(this.trees) && sawAll(this.everything));
    await this.#within(this.pulse.until(over), `the end of ${tasks.map(({ name }) => name).join(', ')}`);
  }

  /** No run is open: processes are gone, spools deleted. */
  async closed(): Promise<void> {
    using journal = new JournalLook(this.stage.gateway.dataDir);
    await this.#within(
      until(() => journal.runs().every(({ open }) => !open)),
      'the end of all runs',
    );
  }

  get problems(): string[] {
    const { text } = this.trees;
    return [...this.peers.flatMap(({ problems }) => problems), ...text.problems];
  }

  async #within(waited: Promise<unknown>, what: string): Promise<void> {
    const limit = new AbortController();
    const late = delay(patienceMs, undefined, { signal: limit.signal, ref: false }).then(() => {
      const { log, dataDir } = this.stage.gateway;
      using journal = new JournalLook(dataDir);
      const facts = journal
        .facts()
        .slice(-40)
        .map((fact) => JSON.stringify(fact).slice(0, 200));
      throw new Error(`waited too long for ${what}\n${facts.join('\n')}\n${log}`);
    });
    try {
      await Promise.race([waited, late]);
    } finally {
      limit.abort();
      late.catch(() => {});
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of this.peers) peer.leave();
    await this.stage[Symbol.asyncDispose]();
  }
}
