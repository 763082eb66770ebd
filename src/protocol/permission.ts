import { z } from 'zod';
import { idSchema, seqSchema, timeSchema } from './bounds.ts';
import { tolerantObject } from './tolerant.ts';

export const permissionKindSchema = z.enum(['tool', 'question', 'plan']);
export type PermissionKind = z.infer<typeof permissionKindSchema>;

export const permissionOutcomeSchema = z.enum(['allowed', 'denied', 'expired', 'withdrawn']);
export type PermissionOutcome = z.infer<typeof permissionOutcomeSchema>;

/** How long an answer holds: for this process, or for the agent's later ones too. */
export const rememberSchema = z.enum(['run', 'agent']);
export type Remember = z.infer<typeof rememberSchema>;

/** Narrowest first. `approve` is `default`, `bypassPermissions` is `skipPermissions`. */
export const permissionModes = [
  'plan',
  'dontAsk',
  'default',
  'approve',
  'acceptEdits',
  'auto',
  'bypass',
  'skipPermissions',
  'bypassPermissions',
] as const;
export const permissionModeSchema = z.enum(permissionModes);
export type PermissionMode = z.infer<typeof permissionModeSchema>;

/** A tool's input; for a question `{questions}`, for a plan `{plan}`. */
export const toolInputSchema = z.record(z.string(), z.unknown());
export type ToolInput = z.infer<typeof toolInputSchema>;

/** `path` is root … agent; `inner` is the CLI's task id when a subagent of Claude's own asks. */
const requestedShape = {
  permission: idSchema,
  path: z.array(idSchema),
  kind: permissionKindSchema,
  tool: z.string(),
  input: toolInputSchema,
  suggestions: z.array(z.unknown()),
  deadline: timeSchema.optional(),
  toolUse: z.string().optional(),
  inner: z.string().optional(),
  description: z.string().optional(),
};

export const permissionRequestedSchema = tolerantObject(requestedShape);
export type PermissionRequested = z.infer<typeof permissionRequestedSchema>;

/** A permission that waits. A large input is `null`, with `size`; `event.get` of `seq` reads it. */
export const permissionViewSchema = tolerantObject({
  ...requestedShape,
  input: toolInputSchema.nullable(),
  size: z.int().optional(),
  seq: seqSchema,
  agent: idSchema,
  at: timeSchema,
});
export type PermissionView = z.infer<typeof permissionViewSchema>;

/** `by` is the name of the principal that answered, or `gateway` (mode `bypass`, a remembered rule, a deadline). */
export const permissionResolvedSchema = tolerantObject({
  permission: idSchema,
  outcome: permissionOutcomeSchema,
  by: z.string().optional(),
  input: toolInputSchema.optional(),
  message: z.string().optional(),
  remembered: rememberSchema.optional(),
  rule: z.string().optional(),
});
export type PermissionResolved = z.infer<typeof permissionResolvedSchema>;

/** The answer turned out to have crossed a withdrawal: what was allowed was not done. */
export const permissionVoidedSchema = tolerantObject({ permission: idSchema });
export type PermissionVoided = z.infer<typeof permissionVoidedSchema>;
