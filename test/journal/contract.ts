import { describe } from 'vitest';
import { describeCommits } from './contract-commits.ts';
import { describeInputs } from './contract-inputs.ts';
import { describeReading } from './contract-reading.ts';
import { describeRestarts } from './contract-restarts.ts';
import { describeTables } from './contract-tables.ts';
import type { Engine } from './engine.ts';
import { describeModel } from './model-check.ts';

/** All that the `Journal` interface promises, whatever engine stands behind it. */
export function describeJournal(name: string, engine: Engine): void {
  describe(`a journal on ${name}`, () => {
    describeCommits(engine);
    describeReading(engine);
    describeInputs(engine);
    describeTables(engine);
    describeRestarts(engine);
    describeModel(engine);
  });
}
