import { z } from 'zod';
import { agentResultViewSchema, agentStateNameSchema, agentViewSchema } from './agent.ts';
import { idSchema } from './bounds.ts';
import { pageShape } from './paging.ts';
import { tolerantObject } from './tolerant.ts';

export const agentParamsSchema = z.strictObject({ agent: idSchema });

export const agentListSchema = z.strictObject({
  tree: idSchema.optional(),
  parent: idSchema.optional(),
  state: z.union([agentStateNameSchema, z.array(agentStateNameSchema).min(1).max(20)]).optional(),
  ...pageShape,
});
export type AgentList = z.infer<typeof agentListSchema>;

export const agentsSchema = tolerantObject({ agents: z.array(agentViewSchema), next: pageShape.before });

export const agentMethods = {
  'agent.get': { scope: 'read', mutates: false, params: agentParamsSchema, result: agentViewSchema },
  'agent.list': { scope: 'read', mutates: false, params: agentListSchema, result: agentsSchema },
  'agent.result': { scope: 'read', mutates: false, params: agentParamsSchema, result: agentResultViewSchema },
} as const;
