import { z } from 'zod';

/**
 * An object that lets unknown keys pass, so that old readers survive new fields. The type names only what we know
 * (zod's own `looseObject` adds an index signature, behind which a misspelt optional field compiles).
 */
export function tolerantObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.looseObject(shape) as unknown as z.ZodObject<Shape>;
}

/** A string of which some values are known today. */
export function tolerantEnum<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.union([z.enum(values), z.string()]) as unknown as z.ZodType<Values[number] | (string & {})>;
}
