import { z } from 'zod';
import { seqSchema } from './bounds.ts';

export const maxPage = 500;

/** Newest first. A page's `next` is the `before` of the page after it; the last page has none. */
export const pageShape = {
  limit: z.int().positive().max(maxPage).optional(),
  before: seqSchema.optional(),
};
