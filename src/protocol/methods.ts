import { z } from 'zod';
import { agentMethods } from './agent-methods.ts';
import { timeSchema } from './bounds.ts';
import { permissionMethods } from './permission-methods.ts';
import { taskMethods } from './task-methods.ts';
import { tolerantObject } from './tolerant.ts';
import { treeMethods } from './tree-methods.ts';

/** What a token may do; `admin` has all of them, over everybody's trees. */
export const scopes = ['read', 'start', 'answer', 'admin'] as const;
export const scopeSchema = z.enum(scopes);
export type Scope = z.infer<typeof scopeSchema>;

export const pingSchema = z.strictObject({});
export const pongSchema = tolerantObject({ at: timeSchema });

/** Every method: strict parameters, tolerant result, the scope that it takes (`null`: none), whether it takes a `key`. */
export const methods = {
  ...taskMethods,
  ...agentMethods,
  ...treeMethods,
  ...permissionMethods,
  ping: { scope: null, mutates: false, params: pingSchema, result: pongSchema },
} as const;

export type MethodName = keyof typeof methods;
export type Params<M extends MethodName> = z.infer<(typeof methods)[M]['params']>;
export type Result<M extends MethodName> = z.infer<(typeof methods)[M]['result']>;

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(methods, name);
}
