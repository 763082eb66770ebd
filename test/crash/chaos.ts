import { setTimeout as delay } from 'node:timers/promises';
import { JournalLook } from './journal-look.ts';
import type { Ordeal, StartedTask } from './ordeal.ts';
import type { Random } from './random.ts';
import { crashTasks } from './tasks.ts';
import { problemsAfter, problemsWith } from './verdict.ts';

export type Harm = {
  /** Does it once, and gives how often it was. */
  strike(ordeal: Ordeal, random: Random): Promise<number>;
  /** It strikes after less than so many events or so many ms, whichever comes first. */
  before: { events: number; ms: number };
};

/** The gateway dies, and sometimes again while it is coming up. */
export const kill: Harm = {
  before: { events: 200, ms: 1_000 },
  async strike(ordeal, random) {
    await ordeal.kill();
    let kills = 1;
    for (; random.below(4) === 0; kills += 1) {
      ordeal.stage.gateway.launch();
      await delay(random.below(500));
      await ordeal.stage.gateway.kill();
    }
    await ordeal.start();
    // Mostly not before all are back, or a busy machine would leave them nothing to see.
    if (random.below(3) > 0) await ordeal.everybodyIsBack();
    return kills;
  },
};

/** One of the clients loses its connection. */
export const cut: Harm = {
  before: { events: 80, ms: 300 },
  async strike({ peers }, random) {
    return Number(random.pick(peers)?.cut());
  },
};

export type Counts = Record<string, number>;

/** Rounds of tasks under harm at random moments, until it was done `times` times. Throws what went wrong. */
export async function endure(
  ordeal: Ordeal,
  random: Random,
  { harm, times, tasks, tell }: { harm: Harm; times: number; tasks: number; tell?: (counts: Counts) => void },
): Promise<Counts> {
  let done = 0;
  let rounds = 0;
  for (; done < times; rounds += 1) {
    const wanted = crashTasks(tasks, `${rounds}`, ordeal.stage.gateway.work);
    ordeal.human.patient = true;
    let over = false;
    const all = Promise.all(wanted.map((task) => ordeal.begin(task))).then(async (started) => {
      await ordeal.ended(started);
      over = true;
      return started;
    });
    while (!over && done < times) {
      const { events, ms } = harm.before;
      await Promise.race([ordeal.pulse.beats(random.below(events)), delay(random.below(ms)), all]);
      if (!over) done += await harm.strike(ordeal, random);
    }
    // Nobody disturbs any more, so nobody needs to wait for it.
    ordeal.human.patient = false;
    ordeal.human.cut();
    await judge(ordeal, await all);
    tell?.({ ...countsOf(ordeal), harms: done });
  }
  return { ...countsOf(ordeal), harms: done };
}

async function judge(ordeal: Ordeal, tasks: readonly StartedTask[]): Promise<void> {
  await ordeal.closed();
  await ordeal.kill();
  const problems = [...problemsAfter(ordeal, tasks), ...tasks.flatMap((task) => problemsWith(task, ordeal))];
  if (problems.length > 0) throw new Error(`${problems.join('\n')}\n${ordeal.stage.gateway.log}`);
  await ordeal.start();
}

function countsOf({ stage, trees, everything, human }: Ordeal): Counts {
  using journal = new JournalLook(stage.gateway.dataDir);
  return {
    tasks: journal.agents().length,
    facts: journal.facts().length,
    connections: trees.connections + everything.connections + human.connections,
    answers: human.answers,
    pieces: trees.text.placed,
    repeated: trees.text.repeated,
    requests: stage.model.requests.length,
  };
}
