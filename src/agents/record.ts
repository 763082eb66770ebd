import type { PermissionMode } from '../protocol/permission.ts';
import type { Usage } from '../protocol/usage.ts';
import type { State } from './state.ts';

/** A message of ours that isn't settled yet; its content lies in the journal under its id. */
export type HeldMessage = {
  id: string;
  from: string;
  /** `sent`: its line is in the input, and the CLI hasn't said that it took it. */
  sent: boolean;
  /** The task's prompt or a word of the gateway: no `message.*` facts, as nobody sent it. */
  own?: true;
  /** May go into a turn that is running. */
  steer?: true;
};

/** An answer that holds for the very same question again. */
export type Remembered = {
  tool: string;
  /** Digest of the input. */
  input: string;
  /** The run that it holds for; absent: all of the agent's. */
  run?: number;
};

/** A subagent or a shell of the CLI's. With a `run` it's in the background and stays open until word of its end is taken in. */
export type CliTask = { run?: string };

/**
 * All of an agent that changes, as it is journaled: with the spool it is enough to go on from after any crash.
 * Small, as each commit that changes it writes it whole.
 */
export type AgentRecord = {
  state: State;
  /** Number of the last opened run. */
  run: number;
  /** The CLI's session, of its latest line. */
  session: string;
  /** The session can be resumed: the CLI has shown an `init` of it. */
  resumable: boolean;
  /** How many turns were opened. */
  turns: number;
  messages: HeldMessage[];
  /** Messages that the open turn has taken; their contents are kept until its result. */
  taken: string[];
  /** How many turns have had a result that is no error. */
  results: number;
  /** Open permissions by the CLI's request id. */
  asks: Record<string, { permission: string; inner?: string; toolUse?: string; deadline?: number }>;
  /** Request ids that were answered in the open turn. */
  answered: string[];
  remembered: Remembered[];
  /** Rules for the CLI that later runs get too, written like `allowedTools`. */
  rules: string[];
  /** What was changed on the way, for later runs too. */
  settings: { model?: string; permissionMode?: PermissionMode };
  /** Reminders that were sent for want of the completion phrase. */
  reminders: number;
  /** To be completed at the end of the open turn. */
  closing?: true;
  /** The plan of the last ExitPlanMode call, as 2.1.332 asks without it. */
  plan?: string;
  /** Open tasks of the CLI by id. */
  tasks: Record<string, CliTask>;
  /** Tool calls of the open turn that have no result yet: names by id. */
  calls: Record<string, string>;
  /** The message whose blocks are being completed, by parent tool use (the main thread's is ""). */
  blocks: Record<string, { message: string; next: number }>;
  /** What the present run has shown. */
  shown: { resumed: boolean; ready: boolean; init: boolean; message: boolean };
  /** Runs in a row that died without a completed message. */
  barren: number;
  usage: Usage;
  /** Dollars of all earlier runs, and of the present one (the CLI's figure is cumulative within a process). */
  cost: { before: number; run: number };
  /** A run was cut, so the figures are lower bounds. */
  atLeast: boolean;
};

export function freshRecord(session: string): AgentRecord {
  return {
    state: { is: 'queued' },
    run: 0,
    session,
    resumable: false,
    turns: 0,
    messages: [],
    taken: [],
    results: 0,
    asks: {},
    answered: [],
    remembered: [],
    rules: [],
    settings: {},
    reminders: 0,
    tasks: {},
    calls: {},
    blocks: {},
    shown: { resumed: false, ready: false, init: false, message: false },
    barren: 0,
    usage: { inputTokens: 0, outputTokens: 0, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 },
    cost: { before: 0, run: 0 },
    atLeast: false,
  };
}

/** Runs in a row without a completed message, after which no further one is tried. */
export const barrenRuns = 3;

/** Neither a task of the CLI's nor a message that it hasn't taken will open another turn. */
export function hasNothingOpen({ tasks, messages }: AgentRecord): boolean {
  return Object.keys(tasks).length === 0 && messages.length === 0;
}

export function costOf(record: AgentRecord): number {
  return record.cost.before + record.cost.run;
}
