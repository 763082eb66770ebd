/** A gateway's journal at work, to be killed: commits facts, three at a time, and says after each commit how far it is. */
import type { Engine } from './engine.ts';
import { born, facts } from './samples.ts';

const [module = '', folder = ''] = process.argv.slice(2);
const { engine } = (await import(module)) as { engine: Engine };
const journal = engine.open(folder);
if (!(await journal.agent('a'))) await journal.commit(born('a'));
for (;;) {
  const committed = await journal.commit({ facts: facts(3), changes: [] });
  // A synchronous write: what was said, was committed before.
  process.stdout.write(`${JSON.stringify({ epoch: journal.epoch, seq: committed.at(-1)?.seq })}\n`);
  await new Promise(setImmediate);
}
