import { z } from 'zod';

/** Bounds are in UTF-16 code units, as everywhere on this wire. */
const withoutNul = (text: string) => !text.includes('\0');
const nulMessage = 'must not hold a NUL character';

/** Text that becomes an argument or a variable of a process: no NUL, and never taken for an option. */
export const argumentSchema = z
  .string()
  .min(1)
  .max(1000)
  .regex(/^[^-]/, 'must not begin with "-"')
  .refine(withoutNul, nulMessage);

/** Text that is only handed on, of at most `max` units. */
export const textSchema = (max: number) => z.string().min(1).max(max).refine(withoutNul, nulMessage);

export const idSchema = z.string().min(1).max(128);
export const nameSchema = textSchema(200);
export const reasonSchema = textSchema(1000);
export const keySchema = z.string().min(1).max(200);

/** Absolute on POSIX or Windows; whether it lies under an allowed root is the gateway's to say. */
export const absolutePathSchema = textSchema(4096).regex(
  /^(?:\/|[A-Za-z]:[\\/]|\\\\)/,
  'must be an absolute path',
);

export const seqSchema = z.int().nonnegative();
/** Milliseconds since 1970, UTC. */
export const timeSchema = z.int().nonnegative();
/** 1-based. */
export const positionSchema = z.int().positive();
