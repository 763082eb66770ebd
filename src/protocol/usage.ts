import { z } from 'zod';
import { tolerantObject } from './tolerant.ts';

const tokensSchema = z.int().nonnegative();

export const usageSchema = tolerantObject({
  inputTokens: tokensSchema,
  outputTokens: tokensSchema,
  cacheReadInputTokens: tokensSchema,
  cacheCreationInputTokens: tokensSchema,
});
export type Usage = z.infer<typeof usageSchema>;

/** Figures that travel together. `atLeast`: a run was cut, so the true figures may be higher. */
export const spendingShape = {
  usage: usageSchema,
  costUsd: z.number().nonnegative(),
  atLeast: z.boolean().optional(),
};

/** An agent with all its descendants; `agents` counts it too. */
export const subtreeSchema = tolerantObject({ agents: z.int().positive(), ...spendingShape });
export type Subtree = z.infer<typeof subtreeSchema>;
