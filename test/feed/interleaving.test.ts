import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Journal } from '../../src/journal/journal.ts';
import type { Encoding } from '../../src/protocol/codec.ts';
import { Reader } from './reader.ts';
import { FeedStage } from './stage.ts';
import { type Chunk, Tree } from './tree.ts';

/** Some are over the size of a frame, so that one publication goes out in parts. */
const size = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 40 }) },
  { weight: 1, arbitrary: fc.constant(70_000) },
);
const kind = fc.constantFrom('text' as const, 'text' as const, 'note' as const, 'end' as const);
const chunk: fc.Arbitrary<Chunk> = fc.array(fc.record({ kind, size }), { minLength: 1, maxLength: 4 });
/** What happens at once: chunks of one agent or of two. */
const chunks = fc.array(fc.tuple(fc.constantFrom(0, 1, 2), chunk), { minLength: 1, maxLength: 2 });

const reader = fc.record({
  tree: fc.constantFrom('a', 'b', '*'),
  owner: fc.constantFrom('olga', undefined),
  except: fc.constantFrom([], ['a']),
  deltas: fc.boolean(),
  encoding: fc.constantFrom<Encoding>('json', 'msgpack'),
  from: fc.constantFrom('start' as const, 'now' as const),
  does: fc.array(fc.constantFrom('pump' as const, 'fill' as const, 'drain' as const), { maxLength: 8 }),
});
type Reading = Awaited<ReturnType<typeof readAll>>;
type ReaderPlan = typeof reader extends fc.Arbitrary<infer T> ? T : never;

/** Reads take their time before and after, for as long as the scheduler likes. */
function slowly(scheduler: fc.Scheduler) {
  return (journal: Journal): Journal =>
    new Proxy(journal, {
      get(target, name) {
        if (name !== 'read') return Reflect.get(target, name, target);
        return async (...asked: Parameters<Journal['read']>) => {
          await scheduler.schedule(Promise.resolve(), 'a read begins');
          const page = await target.read(...asked);
          return scheduler.schedule(Promise.resolve(page), 'a read ends');
        };
      },
    });
}

async function writeAll(stage: FeedStage, scheduler: fc.Scheduler, list: [number, Chunk][][]): Promise<void> {
  for (const together of list) {
    await scheduler.schedule(Promise.resolve(), 'output comes');
    // A gap for each, so that they may publish in another order than that of their commits.
    await Promise.all(
      together.map(([index, what]) => {
        const gap = scheduler.schedule(Promise.resolve(), 'committed');
        return stage.write(stage.trees[index] as Tree, what, gap);
      }),
    );
  }
}

async function readAll(stage: FeedStage, scheduler: fc.Scheduler, plan: ReaderPlan) {
  await scheduler.schedule(Promise.resolve(), 'a reader comes');
  const after = plan.from === 'start' ? 0 : stage.journal.head;
  const { tree, owner, deltas, except } = plan;
  const sink = new Reader(plan.encoding);
  const feed = stage.open(sink, { tree, owner, deltas, after, except: () => except });
  const pumped = [feed.pump()];
  for (const step of plan.does) {
    await scheduler.schedule(Promise.resolve(), step);
    sink.full = step === 'fill' || (step === 'pump' && sink.full);
    if (step !== 'fill') pumped.push(feed.pump());
  }
  return { sink, feed, after, pumped };
}

/** Everybody reads on; a feed may be reading already, because it was told out of turn. */
async function catchUp(
  { sink, feed, pumped }: Reading,
  stage: FeedStage,
  scheduler: fc.Scheduler,
): Promise<void> {
  sink.full = false;
  await Promise.all(pumped);
  // As a connection does when it has drained: also one who lacks no fact may lack live text.
  await feed.pump();
  for (let turns = 0; turns < 1000 && feed.through < stage.journal.head; turns += 1) {
    await feed.pump();
    await scheduler.schedule(Promise.resolve(), 'a turn');
  }
}

test('there is no hole and no double, whatever the interleaving of commits, publishing, pumping and full sockets', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(chunks, { maxLength: 12 }),
      fc.array(reader, { minLength: 1, maxLength: 3 }),
      async (scheduler, output, plans) => {
        const trees = [new Tree('a'), new Tree('b', 'piet'), new Tree('c')];
        using stage = await new FeedStage(trees, slowly(scheduler)).found();
        const reading = plans.map((plan) => readAll(stage, scheduler, plan));
        await scheduler.waitFor(writeAll(stage, scheduler, output));
        const readers = await scheduler.waitFor(Promise.all(reading));
        await scheduler.waitFor(Promise.all(readers.map((one) => catchUp(one, stage, scheduler))));
        // Whoever was told out of turn may still be reading.
        await scheduler.waitIdle();
        for (const [i, { sink, feed, after }] of readers.entries()) {
          const { tree, owner, except, deltas } = plans[i] as ReaderPlan;
          const takes = (id: string, of = trees.find((one) => one.id === id)?.owner) =>
            tree === '*'
              ? (owner === undefined || owner === of) && !(except as readonly string[]).includes(id)
              : tree === id;
          const { facts } = await stage.journal.read({}, after, Number.MAX_SAFE_INTEGER);
          expect(sink.facts).toEqual(
            facts.filter((fact) => takes(fact.tree)).map(({ seq, tree }) => ({ seq, tree })),
          );
          const texts = trees.filter(({ id }) => deltas && takes(id)).flatMap(({ text }) => text);
          expect(new Map(sink.texts)).toEqual(new Map(texts));
          expect(feed.through).toBe(stage.journal.head);
        }
      },
    ),
    { numRuns: 100 },
  );
});
