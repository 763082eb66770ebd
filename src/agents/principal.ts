import { RequestError } from '../protocol/errors.ts';
import type { Scope } from '../protocol/methods.ts';

/** Who is on a connection. Trees and idempotency keys belong to the owner, so its other tokens see them too. */
export interface Principal {
  name: string;
  owner: string;
  scopes: readonly Scope[];
}

/** Whether it may see and touch what belongs to this owner. */
export function reaches(principal: Principal, owner: string): boolean {
  return principal.owner === owner || principal.scopes.includes('admin');
}

export function demandScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.includes(scope) || principal.scopes.includes('admin')) return;
  throw new RequestError('forbidden', `This token lacks the scope "${scope}". Use one that has it.`, {
    scope,
  });
}
