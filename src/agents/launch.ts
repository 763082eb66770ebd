import { spawnArguments } from '../claude/command.ts';
import { agentEnvironment } from '../claude/environment.ts';
import { modeOf } from './modes.ts';
import type { Ports } from './ports.ts';
import { instructions } from './task.ts';

/** What every run is started with. */
export type LaunchSource = {
  /** The CLI: a program and its first arguments. */
  command: readonly string[];
  /** The gateway's own environment, of which a run gets a selection, and further names that it gets. */
  agentEnvironment: Readonly<Record<string, string | undefined>>;
  passEnv: readonly string[];
};

/** How the process of a run is started: what the task asked for, with what was changed on the way. */
export function launcher({ command, agentEnvironment: from, passEnv }: LaunchSource): Ports['launch'] {
  return (agent, record, marker) => {
    const { task } = agent;
    const args = spawnArguments({
      session: record.session,
      resume: record.shown.resumed,
      model: record.settings.model ?? task.model,
      permissionMode: modeOf({ agent, record }),
      allowedTools: [...(task.allowedTools ?? []), ...record.rules],
      disallowedTools: task.disallowedTools,
      appendSystemPrompt: instructions(task),
    });
    return {
      command: [...command, ...args],
      cwd: task.cwd,
      env: agentEnvironment({ from, passEnv, run: marker, ...(task.env && { task: task.env }) }),
    };
  };
}
