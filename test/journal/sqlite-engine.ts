import { join } from 'node:path';
import { SqliteJournal } from '../../src/journal/sqlite.ts';
import type { Engine } from './engine.ts';

export const engine: Engine = {
  url: import.meta.url,
  open: (folder, now = Date.now) => new SqliteJournal(join(folder, 'journal.db'), { now }),
};
