import { z } from 'zod';

const sourceSchema = z.looseObject({ type: z.string() });

/** A block of the Messages API; its further fields are Claude's and pass untouched. */
export const contentBlockSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string().regex(/\S/, 'must not be blank') }),
  z.looseObject({ type: z.literal('image'), source: sourceSchema }),
  z.looseObject({ type: z.literal('document'), source: sourceSchema }),
]);
export type ContentBlock = z.infer<typeof contentBlockSchema>;

/** What is said to an agent. Its size is bounded by the frame alone. */
export const contentSchema = z.union([
  z.string().regex(/\S/, 'must not be blank'),
  z.array(contentBlockSchema).min(1).max(1000),
]);
export type Content = z.infer<typeof contentSchema>;
