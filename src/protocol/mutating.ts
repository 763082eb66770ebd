import { z } from 'zod';
import { keySchema } from './bounds.ts';

/** Parameters of a method that changes something: with a `key` the first outcome is given again, for 24 h. */
export function mutatingParams<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject({ ...shape, key: keySchema.optional() });
}
