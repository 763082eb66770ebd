import { z } from 'zod';
import { agentViewSchema } from './agent.ts';
import { idSchema, positionSchema, seqSchema } from './bounds.ts';
import { contentSchema } from './content.ts';
import { permissionViewSchema } from './permission.ts';
import { tolerantObject } from './tolerant.ts';

/** A tree's id, or `*`: all trees that one may read. */
export const treeSelectorSchema = idSchema;

export const cursorSchema = z.strictObject({ epoch: idSchema, seq: seqSchema });
export type Cursor = z.infer<typeof cursorSchema>;

export const afterSchema = z.union([cursorSchema, z.enum(['start', 'now'])]);
export type After = z.infer<typeof afterSchema>;

/** A message that waits for its turn. Large content is `null` with `size`, and stands whole in the fact `seq`. */
export const queuedMessageSchema = tolerantObject({
  agent: idSchema,
  id: idSchema,
  from: z.string(),
  content: contentSchema.nullable(),
  size: z.int().optional(),
  seq: seqSchema,
  position: positionSchema,
});
export type QueuedMessage = z.infer<typeof queuedMessageSchema>;

/** All of it as of one `seq`. */
export const snapshotSchema = tolerantObject({
  seq: seqSchema,
  agents: z.array(agentViewSchema),
  permissions: z.array(permissionViewSchema),
  queued: z.array(queuedMessageSchema),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

/** Why a cursor can't be continued: not our epoch, its facts are gone, or it is beyond the last one. */
export const resetReasonSchema = z.enum(['epoch', 'trimmed', 'ahead']);
export type ResetReason = z.infer<typeof resetReasonSchema>;

export const subscriptionSchema = tolerantObject({
  epoch: idSchema,
  head: seqSchema,
  verdict: z.enum(['ok', 'reset']),
  reason: resetReasonSchema.optional(),
  snapshot: snapshotSchema.optional(),
});
export type Subscription = z.infer<typeof subscriptionSchema>;
