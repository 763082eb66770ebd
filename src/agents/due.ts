import type { Draft } from './draft.ts';
import { complete } from './ending.ts';
import type { OpenRun } from './open-run.ts';
import { type AgentRecord, hasNothingOpen } from './record.ts';

/** A resumed CLI that says nothing for so long after it is ready has dropped the message. */
const silenceMs = 10_000;

/** Without output for so long an open turn is worth a word. */
export const stalledMs = 5 * 60_000;
/** Below so much free space the CLI may lose output without a word (seen), so no task is started. */
export const lowDiskBytes = 128 * 1024 * 1024;

/** Whether the CLI took a message that it knew already, without a word; true once in a while. */
export function isSilent(open: OpenRun, { shown }: AgentRecord): boolean {
  if (!shown.resumed || !shown.ready || shown.init) return false;
  open.silentSince ??= performance.now();
  if (performance.now() - open.silentSince < silenceMs) return false;
  open.silentSince = performance.now();
  return true;
}

/** An open agent that was closed, or that nobody has written to for long: its process goes, and it can be resumed. */
export function endIdle(draft: Draft): void {
  const { state, closing } = draft.record;
  if (state.is !== 'idle') return;
  if (closing) return complete(draft);
  const minutes = draft.agent.task.limits?.idleMinutes;
  if (minutes === undefined || draft.at - state.since < minutes * 60_000) return;
  if (!hasNothingOpen(draft.record)) return;
  complete(draft, `Idle for ${minutes} minutes; task.resume goes on with it.`);
}

/** Tells once, as long as it holds, of output that stays away and of a disk that fills up. */
export function warn(draft: Draft, open: Warned, freeBytes: number): void {
  const { state, asks } = draft.record;
  const waits = state.is === 'idle' || draft.hasEnded || Object.keys(asks).length > 0;
  // No time is counted against the CLI while a human is awaited.
  if (waits) open.heardAt = performance.now();
  const silentMs = performance.now() - open.heardAt;
  notice(draft, open, {
    code: 'output_stalled',
    holds: silentMs > stalledMs,
    message: `Claude Code has written nothing for ${Math.floor(silentMs / 60_000)} minutes.`,
    figures: { silentMs: Math.round(silentMs) },
  });
  notice(draft, open, {
    code: 'disk_low',
    holds: freeBytes < lowDiskBytes,
    message: 'The disk is nearly full. Make room: on a full disk Claude Code loses output.',
    figures: { freeBytes },
  });
}

type Warned = Pick<OpenRun, 'heardAt' | 'warned'>;
type Warning = { code: 'output_stalled' | 'disk_low'; holds: boolean; message: string; figures: object };

function notice(draft: Draft, { warned }: Warned, { code, holds, message, figures }: Warning): void {
  if (!holds) warned.delete(code);
  else if (!warned.has(code)) {
    warned.add(code);
    draft.fact('agent.notice', { code, message, ...figures });
  }
}
