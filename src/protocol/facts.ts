import { z } from 'zod';
import { agentResultSchema, agentStateDataSchema } from './agent.ts';
import { idSchema, positionSchema } from './bounds.ts';
import { contentSchema } from './content.ts';
import { permissionRequestedSchema, permissionResolvedSchema, permissionVoidedSchema } from './permission.ts';
import { taskViewSchema } from './task.ts';
import { tolerantEnum, tolerantObject } from './tolerant.ts';
import { spendingShape, subtreeSchema } from './usage.ts';

export const agentCreatedSchema = tolerantObject({
  parent: idSchema.optional(),
  path: z.array(idSchema),
  name: z.string().optional(),
  task: taskViewSchema,
});
export type AgentCreated = z.infer<typeof agentCreatedSchema>;

export const agentUsageSchema = tolerantObject({ ...spendingShape, subtree: subtreeSchema });
export type AgentUsage = z.infer<typeof agentUsageSchema>;

export const noticeCodeSchema = tolerantEnum(['output_stalled', 'disk_low', 'noise', 'partial_output']);
/** Beside code and words stand the figures of the case. */
export const agentNoticeSchema = z.looseObject({ code: noticeCodeSchema, message: z.string() });
export type AgentNotice = z.infer<typeof agentNoticeSchema>;

/** One line of the CLI, verbatim; with `partial` one that we made of the text of a turn that broke off. */
export const messageSchema = z.looseObject({ type: z.string(), partial: z.boolean().optional() });
export type Message = z.infer<typeof messageSchema>;

/** `from` is a principal's name, an agent's id, or `gateway`. */
export const messageQueuedSchema = tolerantObject({
  id: idSchema,
  from: z.string(),
  content: contentSchema,
  position: positionSchema,
});
export type MessageQueued = z.infer<typeof messageQueuedSchema>;

export const messageConsumedSchema = tolerantObject({ id: idSchema, turn: z.int().positive() });
export type MessageConsumed = z.infer<typeof messageConsumedSchema>;

export const messageDroppedSchema = tolerantObject({ id: idSchema, reason: z.string() });
export type MessageDropped = z.infer<typeof messageDroppedSchema>;

/** What the agent wrote into `progress.json`: its own words, so take them as such. */
export const agentProgressSchema = z.record(z.string(), z.unknown());
export type AgentProgress = z.infer<typeof agentProgressSchema>;

/** `used` and `limit` are minutes, tokens or dollars, by `what`. */
export const agentBudgetSchema = tolerantObject({
  what: z.enum(['time', 'tokens', 'cost']),
  level: z.enum(['warning', 'wrap_up', 'killed']),
  used: z.number(),
  limit: z.number(),
  of: z.enum(['agent', 'tree']),
});
export type AgentBudget = z.infer<typeof agentBudgetSchema>;

/** `from` and `to` are agents' ids; `from` is a principal's name when a client wrote. */
export const agentMailSchema = tolerantObject({
  from: z.string(),
  to: idSchema,
  id: idSchema,
  content: contentSchema,
});
export type AgentMail = z.infer<typeof agentMailSchema>;

export const agentStderrSchema = tolerantObject({ lines: z.array(z.string()) });
export type AgentStderr = z.infer<typeof agentStderrSchema>;

/** Every type of fact, with the schema of its data. */
export const factData = {
  'agent.created': agentCreatedSchema,
  'agent.state': agentStateDataSchema,
  'agent.usage': agentUsageSchema,
  'agent.notice': agentNoticeSchema,
  message: messageSchema,
  'message.queued': messageQueuedSchema,
  'message.consumed': messageConsumedSchema,
  'message.dropped': messageDroppedSchema,
  'permission.requested': permissionRequestedSchema,
  'permission.resolved': permissionResolvedSchema,
  'permission.voided': permissionVoidedSchema,
  'agent.progress': agentProgressSchema,
  'agent.budget': agentBudgetSchema,
  'agent.mail': agentMailSchema,
  'agent.result': agentResultSchema,
  'agent.stderr': agentStderrSchema,
} as const;
export type FactType = keyof typeof factData;
export type FactData<T extends FactType = FactType> = z.infer<(typeof factData)[T]>;

export const factTypes = Object.keys(factData) as FactType[];
