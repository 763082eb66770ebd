import { z } from 'zod';
import { absolutePathSchema, argumentSchema, idSchema, nameSchema, seqSchema, textSchema } from './bounds.ts';
import { contentSchema } from './content.ts';
import { permissionModeSchema } from './permission.ts';
import { tolerantObject } from './tolerant.ts';

export const priorities = ['low', 'normal', 'high', 'critical'] as const;
export const prioritySchema = z.enum(priorities);
export type Priority = z.infer<typeof prioritySchema>;

/** At most a year; fractions are fine. */
const minutesSchema = z.number().positive().max(525_600);

/** `maxTurns` counts the turns of the agent's life. */
export const taskLimitsShape = {
  timeoutMinutes: minutesSchema.optional(),
  idleMinutes: minutesSchema.optional(),
  permissionMinutes: minutesSchema.optional(),
  maxTokens: z.int().positive().max(1_000_000_000_000).optional(),
  maxCostUsd: z.number().positive().max(1_000_000).optional(),
  maxTurns: z.int().positive().max(1_000_000).optional(),
};
export const taskLimitsSchema = z.strictObject(taskLimitsShape);
export type TaskLimits = z.infer<typeof taskLimitsSchema>;

/** What becomes of a task when its owner's last subscriber has gone. */
export const onDisconnectSchema = z.union([
  z.literal('continue'),
  z.strictObject({
    cancelAfterMs: z
      .int()
      .nonnegative()
      .max(7 * 24 * 3_600_000),
  }),
]);
export type OnDisconnect = z.infer<typeof onDisconnectSchema>;

const toolRulesSchema = z.array(argumentSchema).max(200);

/** All of a task but its prompt, its environment and its parent: asked in `task.start`, told in the agent view. */
export const taskShape = {
  cwd: absolutePathSchema.optional(),
  name: nameSchema.optional(),
  model: argumentSchema.optional(),
  permissionMode: permissionModeSchema.optional(),
  skipPermissions: z.boolean().optional(),
  keepOpen: z.boolean().optional(),
  completionPhrase: textSchema(200).optional(),
  priority: prioritySchema.optional(),
  type: textSchema(200).optional(),
  successCriteria: textSchema(10_000).optional(),
  outputFormat: textSchema(10_000).optional(),
  dependsOn: z.array(idSchema).max(50).optional(),
  contextFiles: z.array(textSchema(4096)).max(200).optional(),
  limits: taskLimitsSchema.optional(),
  allowedTools: toolRulesSchema.optional(),
  disallowedTools: toolRulesSchema.optional(),
  // Linux takes at most 128 KiB of bytes in one argument of a program.
  appendSystemPrompt: textSchema(32_768).optional(),
  allowCommands: z.boolean().optional(),
  spawnTags: z.boolean().optional(),
  onCrash: z.enum(['resume', 'fail']).optional(),
  onDisconnect: onDisconnectSchema.optional(),
};

/**
 * A task as others see it: values of `env` are secrets, so only their names are told. A prompt over 16 KiB is `null`
 * with `promptSize`, and stands whole in the fact `seq`.
 */
export const taskViewSchema = tolerantObject({
  ...taskShape,
  limits: tolerantObject(taskLimitsShape).optional(),
  prompt: contentSchema.nullable().optional(),
  promptSize: z.int().optional(),
  seq: seqSchema.optional(),
  envNames: z.array(z.string()).optional(),
});
export type TaskView = z.infer<typeof taskViewSchema>;
