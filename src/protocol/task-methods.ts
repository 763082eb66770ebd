import { z } from 'zod';
import { agentStateNameSchema } from './agent.ts';
import { argumentSchema, idSchema, positionSchema, reasonSchema } from './bounds.ts';
import { contentSchema } from './content.ts';
import { mutatingParams } from './mutating.ts';
import { permissionModeSchema } from './permission.ts';
import { subscriptionSchema } from './subscription.ts';
import { taskShape } from './task.ts';
import { tolerantObject } from './tolerant.ts';

const envSchema = z
  .record(
    z
      .string()
      .max(128)
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
    z.string().max(32_768),
  )
  .refine((env) => Object.keys(env).length <= 200, 'at most 200 variables')
  .refine(
    (env) => !Object.values(env).some((value) => value.includes('\0')),
    'no value may hold a NUL character',
  );

/** Subscribes this connection to the agent's tree in the same step, so that no event is missed. */
const subscribeSchema = z.union([z.boolean(), z.strictObject({ deltas: z.boolean().optional() })]);

export const taskStartSchema = mutatingParams({
  prompt: contentSchema.optional(),
  parent: idSchema.optional(),
  env: envSchema.optional(),
  ...taskShape,
  subscribe: subscribeSchema.optional(),
}).refine((task) => task.prompt !== undefined || task.keepOpen === true, {
  message: 'is required, unless keepOpen is true (the agent then starts idle)',
  path: ['prompt'],
});
export type TaskStart = z.infer<typeof taskStartSchema>;

/** `position` (1-based) stands there while the agent is `queued`. */
export const startedSchema = tolerantObject({
  agent: idSchema,
  tree: idSchema,
  state: agentStateNameSchema,
  position: positionSchema.optional(),
  subscription: subscriptionSchema.optional(),
});
export type Started = z.infer<typeof startedSchema>;

const agentShape = { agent: idSchema };

export const taskSendSchema = mutatingParams({
  ...agentShape,
  content: contentSchema,
  steer: z.boolean().optional(),
});
export const sentSchema = tolerantObject({ message: idSchema, position: positionSchema });

export const taskInterruptSchema = mutatingParams({ ...agentShape, turn: z.int().positive().optional() });
export const interruptedSchema = tolerantObject({ interrupted: z.boolean() });

export const taskCancelSchema = mutatingParams({ ...agentShape, reason: reasonSchema.optional() });
export const cancelledSchema = tolerantObject({ cancelled: z.array(idSchema) });

export const taskCloseSchema = mutatingParams(agentShape);
export const closedSchema = tolerantObject({ state: agentStateNameSchema });

export const taskResumeSchema = mutatingParams({
  ...agentShape,
  prompt: contentSchema.optional(),
  subscribe: subscribeSchema.optional(),
});

export const taskConfigureSchema = mutatingParams({
  ...agentShape,
  model: argumentSchema.optional(),
  permissionMode: permissionModeSchema.optional(),
}).refine(
  (change) => change.model !== undefined || change.permissionMode !== undefined,
  'name a model, a permissionMode, or both',
);
/** What is in force; no `model` means the CLI's own default. */
export const configuredSchema = tolerantObject({
  model: z.string().optional(),
  permissionMode: permissionModeSchema,
});

export const taskMethods = {
  'task.start': { scope: 'start', mutates: true, params: taskStartSchema, result: startedSchema },
  'task.send': { scope: 'start', mutates: true, params: taskSendSchema, result: sentSchema },
  'task.interrupt': { scope: 'start', mutates: true, params: taskInterruptSchema, result: interruptedSchema },
  'task.cancel': { scope: 'start', mutates: true, params: taskCancelSchema, result: cancelledSchema },
  'task.close': { scope: 'start', mutates: true, params: taskCloseSchema, result: closedSchema },
  'task.resume': { scope: 'start', mutates: true, params: taskResumeSchema, result: startedSchema },
  'task.configure': { scope: 'start', mutates: true, params: taskConfigureSchema, result: configuredSchema },
} as const;
