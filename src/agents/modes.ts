import { RequestError } from '../protocol/errors.ts';
import type { PermissionMode } from '../protocol/permission.ts';
import type { Draft } from './draft.ts';
import type { AgentRecord } from './record.ts';
import type { StoredTask } from './task.ts';

/** What the operator allows beyond asking. */
export type ModeRules = { allowBypass: boolean; allowSkipPermissions: boolean };

/** The mode in force. */
export function modeOf({
  agent,
  record,
}: Draft | { agent: { task: StoredTask }; record: AgentRecord }): PermissionMode {
  const { skipPermissions, permissionMode } = agent.task;
  return (
    record.settings.permissionMode ?? (skipPermissions ? 'skipPermissions' : (permissionMode ?? 'default'))
  );
}

export function skips(mode: PermissionMode): boolean {
  return mode === 'skipPermissions' || mode === 'bypassPermissions';
}

/** Refuses a mode that the operator hasn't allowed. */
export function demandMode(mode: PermissionMode, rules: ModeRules): void {
  if (skips(mode) && !rules.allowSkipPermissions) {
    const words = 'skipPermissions is off here. The operator allows it with --allow-skip-permissions.';
    throw new RequestError('refused', words, { rule: 'mode', mode });
  }
  if (mode === 'bypass' && !rules.allowBypass) {
    const words = 'Mode bypass is off here. The operator allows it with --allow-bypass.';
    throw new RequestError('refused', words, { rule: 'mode', mode });
  }
}
