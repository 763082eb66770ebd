import { type Principal, reaches } from '../agents/principal.ts';
import type { AgentRow, Journal } from '../journal/journal.ts';
import { RequestError } from '../protocol/errors.ts';

/** The agent, if the principal may see it; a foreign one looks like an unknown one. */
export async function demandAgent(journal: Journal, principal: Principal, id: string): Promise<AgentRow> {
  const row = await journal.agent(id);
  if (row && reaches(principal, row.owner)) return row;
  throw new RequestError('not_found', `There is no agent ${id} that you may see.`, { id });
}

export async function demandTree(journal: Journal, principal: Principal, id: string): Promise<void> {
  const row = await journal.agent(id);
  if (row && row.tree === id && reaches(principal, row.owner)) return;
  throw new RequestError('not_found', `There is no tree ${id} that you may see.`, { id });
}
