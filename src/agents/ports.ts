import type { Launch, Run } from '../claude/run.ts';
import type { Journal, RunRef } from '../journal/journal.ts';
import type { Identity, Published } from './draft.ts';
import type { Places } from './places.ts';
import type { AgentRecord } from './record.ts';

export type Publish = (tree: { tree: string; owner: string }, events: readonly Published[]) => void;

export type Log = {
  info(figures: object, message: string): void;
  warn(figures: object, message: string): void;
  error(figures: object, message: string): void;
};

/** What agents need of the world; the composition root fills it. */
export type Ports = {
  journal: Journal;
  /** The spool of a run, made if it isn't there. */
  openRun(run: RunRef, marker: string): Run;
  /** How its process is to be started. */
  launch(agent: Identity, record: AgentRecord, marker: string): Launch;
  publish: Publish;
  places: Places;
  /** Whether anybody of the agent's owner is subscribed to its tree. */
  isWatched(agent: Identity): boolean;
  /** Free space where spools and journal lie. */
  freeBytes(): number;
  log: Log;
  /** Epoch ms. */
  now(): number;
};
