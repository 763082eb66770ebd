import { z } from 'zod';
import { argumentSchema, idSchema, textSchema } from './bounds.ts';
import { mutatingParams } from './mutating.ts';
import { pageShape } from './paging.ts';
import {
  permissionOutcomeSchema,
  permissionViewSchema,
  rememberSchema,
  toolInputSchema,
} from './permission.ts';
import { tolerantObject } from './tolerant.ts';

export const permissionListSchema = z.strictObject({ tree: idSchema.optional(), ...pageShape });

export const permissionsSchema = tolerantObject({
  permissions: z.array(permissionViewSchema),
  next: pageShape.before,
});

/** One label or free text; several for a question with `multiSelect`. */
const chosenSchema = z.union([z.string().max(10_000), z.array(z.string().max(10_000)).max(100)]);

const onlyWithAllow = ['updatedInput', 'answers', 'remember', 'rule'] as const;

export const permissionAnswerSchema = mutatingParams({
  permission: idSchema,
  behavior: z.enum(['allow', 'deny']),
  updatedInput: toolInputSchema.optional(),
  message: textSchema(10_000).optional(),
  interrupt: z.boolean().optional(),
  remember: rememberSchema.optional(),
  rule: argumentSchema.optional(),
  answers: z.record(z.string().max(10_000), chosenSchema).optional(),
}).superRefine((answer, context) => {
  const refuse = (field: string, message: string) =>
    context.addIssue({ code: 'custom', path: [field], message });
  if (answer.behavior === 'allow' && answer.interrupt) refuse('interrupt', 'goes with behavior "deny" only');
  for (const field of onlyWithAllow) {
    if (answer.behavior === 'deny' && answer[field] !== undefined)
      refuse(field, 'goes with behavior "allow" only');
  }
  if (answer.rule !== undefined && answer.remember === undefined) refuse('rule', 'needs remember beside it');
});
export type PermissionAnswer = z.infer<typeof permissionAnswerSchema>;

/** `remembered` says how long the answer holds for the same question. */
export const answeredSchema = tolerantObject({
  outcome: permissionOutcomeSchema,
  remembered: rememberSchema.optional(),
});

export const permissionMethods = {
  'permission.list': {
    scope: 'read',
    mutates: false,
    params: permissionListSchema,
    result: permissionsSchema,
  },
  'permission.answer': {
    scope: 'answer',
    mutates: true,
    params: permissionAnswerSchema,
    result: answeredSchema,
  },
} as const;
