import { randomUUID } from 'node:crypto';
import { cliMode } from '../claude/command.ts';
import { setModeLine, setModelLine } from '../claude/stdin.ts';
import { RequestError } from '../protocol/errors.ts';
import type { Params, Result } from '../protocol/methods.ts';
import type { Draft } from './draft.ts';
import { demandMode, type ModeRules, modeOf, skips } from './modes.ts';

/** Changes model and mode on the way; later runs get them too. */
export function configure(
  draft: Draft,
  { model, permissionMode }: Params<'task.configure'>,
  rules: ModeRules,
): Result<'task.configure'> {
  const { settings } = draft.record;
  if (permissionMode !== undefined) {
    demandMode(permissionMode, rules);
    if (skips(permissionMode) && !skips(modeOf(draft))) {
      const words =
        'The CLI takes skipPermissions only from its start. Start the task with it, or use bypass.';
      throw new RequestError('refused', words, { rule: 'mode', mode: permissionMode });
    }
    settings.permissionMode = permissionMode;
    draft.write('configure', setModeLine(randomUUID(), cliMode(permissionMode)));
  }
  if (model !== undefined) {
    settings.model = model;
    draft.write('configure', setModelLine(randomUUID(), model));
  }
  const inForce = settings.model ?? draft.agent.task.model;
  return { permissionMode: modeOf(draft), ...(inForce !== undefined && { model: inForce }) };
}
