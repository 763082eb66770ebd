import type { Draft } from './draft.ts';
import { complete } from './ending.ts';
import type { OpenRun } from './open-run.ts';
import type { AgentRecord } from './record.ts';

/** A resumed CLI that says nothing for so long after it is ready has dropped the message. */
const silenceMs = 10_000;

/** Whether the CLI took a message that it knew already, without a word; true once in a while. */
export function isSilent(open: OpenRun, { shown }: AgentRecord): boolean {
  if (!shown.resumed || !shown.ready || shown.init) return false;
  open.silentSince ??= performance.now();
  if (performance.now() - open.silentSince < silenceMs) return false;
  open.silentSince = performance.now();
  return true;
}

/** An open agent that nobody has written to for long: its process goes, and it can be resumed. */
export function endIdle(draft: Draft): void {
  const { state } = draft.record;
  const minutes = draft.agent.task.limits?.idleMinutes;
  if (state.is !== 'idle' || minutes === undefined || draft.at - state.since < minutes * 60_000) return;
  complete(draft, `Idle for ${minutes} minutes; task.resume goes on with it.`);
}
