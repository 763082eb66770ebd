import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** SQLite's result code SQLITE_BUSY. */
const busy = 5;

export interface Lock extends Disposable {
  directory: string;
}

/** Two gateways on one journal would answer the same permission twice, so the second one is refused. */
export class DataDirectoryInUse extends Error {
  override name = 'DataDirectoryInUse';
  readonly directory: string;

  constructor(directory: string) {
    super(
      `The data directory ${directory} is in use by another gateway. Stop that one, or choose another with --data.`,
    );
    this.directory = directory;
  }
}

/** Long enough for a killed gateway to be gone, and for starters that meet to settle which one wins. */
const patienceMs = 250;

/** The collector closes a database that nobody refers to (seen), and with it would go the lock. */
const held = new Set<DatabaseSync>();

/**
 * Takes the data directory (made if need be) for the life of this process: the system frees it at any end of
 * ours, `kill -9` too, and no child inherits it.
 *
 * An open exclusive transaction is the lock. Not `locking_mode=exclusive`: there a refused starter keeps its
 * shared lock until it closes, so of four that start at once at times none wins (seen: 10 of 80 times).
 * Nothing else may open lock.db in this process: closing a file drops all POSIX locks that we have on it.
 */
export function lockDataDirectory(dir: string): Lock {
  const directory = resolve(dir);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const db = new DatabaseSync(join(directory, 'lock.db'), { timeout: patienceMs });
  try {
    db.exec('begin exclusive');
  } catch (error) {
    db.close();
    throw isBusy(error) ? new DataDirectoryInUse(directory) : error;
  }
  held.add(db);
  return { directory, [Symbol.dispose]: () => release(db) };
}

function release(db: DatabaseSync): void {
  if (held.delete(db)) db.close();
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === busy;
}
