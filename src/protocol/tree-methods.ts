import { z } from 'zod';
import { seqSchema } from './bounds.ts';
import { afterSchema, snapshotSchema, subscriptionSchema, treeSelectorSchema } from './subscription.ts';
import { tolerantObject } from './tolerant.ts';

export const treeParamsSchema = z.strictObject({ tree: treeSelectorSchema });

export const treeSubscribeSchema = z.strictObject({
  tree: treeSelectorSchema,
  after: afterSchema.optional(),
  deltas: z.boolean().optional(),
});
export type TreeSubscribe = z.infer<typeof treeSubscribeSchema>;

export const unsubscribedSchema = tolerantObject({});

export const eventGetSchema = z.strictObject({ seq: seqSchema, from: z.int().nonnegative().optional() });

/** The units [from, to) of the data's JSON, `size` units long in all. */
export const eventSliceSchema = tolerantObject({
  from: z.int().nonnegative(),
  to: z.int().nonnegative(),
  size: z.int().nonnegative(),
  json: z.string(),
});
export type EventSlice = z.infer<typeof eventSliceSchema>;

export const treeMethods = {
  'tree.subscribe': {
    scope: 'read',
    mutates: false,
    params: treeSubscribeSchema,
    result: subscriptionSchema,
  },
  'tree.unsubscribe': { scope: 'read', mutates: false, params: treeParamsSchema, result: unsubscribedSchema },
  'tree.get': { scope: 'read', mutates: false, params: treeParamsSchema, result: snapshotSchema },
  'event.get': { scope: 'read', mutates: false, params: eventGetSchema, result: eventSliceSchema },
} as const;
