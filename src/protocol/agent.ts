import { z } from 'zod';
import { idSchema, positionSchema, seqSchema, timeSchema } from './bounds.ts';
import { taskViewSchema } from './task.ts';
import { tolerantEnum, tolerantObject } from './tolerant.ts';
import { spendingShape, subtreeSchema } from './usage.ts';

/** `interrupted` is an end too, unless `resuming` stands beside it. */
export const terminalStates = [
  'completed',
  'failed',
  'cancelled',
  'timed_out',
  'over_budget',
  'interrupted',
] as const;
export const agentStateNames = ['queued', 'starting', 'running', 'idle', ...terminalStates] as const;
export const agentStateNameSchema = z.enum(agentStateNames);
export type AgentStateName = z.infer<typeof agentStateNameSchema>;
export type TerminalState = (typeof terminalStates)[number];

/** Why an agent is in its state, as far as a program may branch on it; the words for people are in `detail`. */
export const stateReasons = {
  cli_missing: 'The Claude Code program was not found.',
  cli_not_executable: 'The Claude Code program may not be executed.',
  cwd_missing: 'The working directory does not exist or is not a directory.',
  start_failed: 'The process did not start or did not become ready.',
  resume_failed: 'The session could not be continued; its id is kept.',
  not_logged_in: 'Claude Code is not logged in.',
  api_error: 'The model API answered with an error.',
  ended_early: 'The output was cut, or the stream ended before the message did.',
  exited: 'The process exited without a result.',
  crashed: 'The process was ended by a signal, or vanished.',
  crash_loop: 'Three runs without a completed message.',
  cancelled: 'Cancelled by a client, an agent, or the loss of its last subscriber.',
  gateway_fault: 'The gateway failed on this agent; its log says why.',
  promise_not_kept: 'Five reminders did not bring the completion phrase.',
} as const;
const reasonNames = Object.keys(stateReasons) as [
  keyof typeof stateReasons,
  ...(keyof typeof stateReasons)[],
];
export const stateReasonSchema = tolerantEnum(reasonNames);
export type StateReason = z.infer<typeof stateReasonSchema>;

/** What an agent waits for; `ids` are permissions, agents, or none. */
export const waitingSchema = tolerantObject({
  for: z.enum(['human', 'children', 'place', 'dependency']),
  ids: z.array(idSchema),
  since: timeSchema,
  until: timeSchema.optional(),
});
export type Waiting = z.infer<typeof waitingSchema>;

/** `detail` says to people what went wrong and what to do. */
export const agentStateDataSchema = tolerantObject({
  state: agentStateNameSchema,
  reason: stateReasonSchema.optional(),
  detail: z.string().optional(),
  exitCode: z.int().optional(),
  position: positionSchema.optional(),
  run: z.int().positive().optional(),
  resuming: z.boolean().optional(),
  waiting: waitingSchema.optional(),
});
export type AgentStateData = z.infer<typeof agentStateDataSchema>;

/** `run` is 0 before the first process; `turn` is the last one opened. */
export const agentViewSchema = tolerantObject({
  id: idSchema,
  tree: idSchema,
  parent: idSchema.optional(),
  children: z.array(idSchema),
  path: z.array(idSchema),
  name: z.string().optional(),
  task: taskViewSchema,
  ...agentStateDataSchema.shape,
  run: z.int().nonnegative(),
  turn: z.int().positive().optional(),
  ...spendingShape,
  subtree: subtreeSchema,
});
export type AgentView = z.infer<typeof agentViewSchema>;

export const agentResultSchema = tolerantObject({
  state: agentStateNameSchema,
  reason: stateReasonSchema.optional(),
  text: z.string(),
  ...spendingShape,
  turns: z.int().nonnegative(),
});
export type AgentResult = z.infer<typeof agentResultSchema>;

/** The result as `agent.result` answers it: a text over `maxEventBytes` is `null`, and stands whole in the fact `seq`. */
export const agentResultViewSchema = tolerantObject({
  agent: idSchema,
  ...agentResultSchema.shape,
  text: z.string().nullable(),
  size: z.int().optional(),
  seq: seqSchema,
});
export type AgentResultView = z.infer<typeof agentResultViewSchema>;
