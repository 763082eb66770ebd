import { describeJournal } from './contract.ts';
import { engine } from './sqlite-engine.ts';

describeJournal('SQLite', engine);
