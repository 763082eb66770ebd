import { randomBytes } from 'node:crypto';
import type { RunEnd } from '../claude/run.ts';
import { initializeLine } from '../claude/stdin.ts';
import type { RunRow } from '../journal/journal.ts';
import type { Content } from '../protocol/content.ts';
import type { Draft } from './draft.ts';
import { cutOff, fail } from './ending.ts';
import { forget, queueMessage } from './messages.ts';
import { initializeId } from './output.ts';
import { barrenRuns } from './record.ts';
import type { Problem } from './state.ts';
import { holdOwnMessage, type Outgoing, openTurn, send } from './turns.ts';

/** An end with what it left: the last lines of stderr, and how many bytes of a line without its end. */
export type Remains = RunEnd & { stderr: string[]; unfinished: number };

/** The process is gone and its output is read to the end. */
export function processEnded(draft: Draft, ended: Remains): void {
  const { record, agent } = draft;
  const { stderr, unfinished } = ended;
  if (unfinished > 0) {
    const message = 'The last line of the output was cut off.';
    draft.fact('agent.notice', { code: 'partial_output', message, bytes: unfinished });
  }
  if (stderr.length > 0) draft.fact('agent.stderr', { lines: stderr });
  const problem = problemOf(draft, ended);
  if (problem) return fail(draft, problem);

  const exitCode = ended.code !== undefined && { exitCode: ended.code };
  const detail = `Claude Code was ended ${ended.code === undefined ? 'from outside' : `with status ${ended.code}`}.`;
  record.barren = record.shown.message ? 0 : record.barren + 1;
  record.atLeast = record.atLeast || draft.turn !== undefined;
  if (agent.task.onCrash === 'fail') return fail(draft, { reason: 'crashed', detail, ...exitCode });
  if (record.barren >= barrenRuns) {
    return fail(draft, {
      reason: 'crash_loop',
      detail: `${barrenRuns} runs died without a message.`,
      ...exitCode,
    });
  }
  cutOff(draft, { reason: 'crashed', ...exitCode });
}

/** An end that is the CLI's own doing; a signal, or an end that nobody saw, is none. */
function problemOf(draft: Draft, { code, problem, stderr, unfinished }: Remains): Problem | undefined {
  const { record, agent } = draft;
  const words = stderr.length > 0 ? ` It said: ${stderr.join('\n')}` : '';
  const exitCode = code !== undefined && { exitCode: code };
  if (problem === 'cwd_missing') {
    return {
      reason: 'cwd_missing',
      detail: `The working directory ${agent.task.cwd} does not exist. Create it.`,
    };
  }
  if (problem) return { reason: 'start_failed', detail: `No process could be started.${words}` };
  if (code === undefined || code >= 128) return undefined;
  if (record.shown.ready) {
    // A process that ends while it has nothing to do is taken up again.
    if (!draft.turn) return undefined;
    return {
      reason: unfinished > 0 ? 'ended_early' : 'exited',
      detail: `Claude Code exited with status ${code} ${unfinished > 0 ? 'within a line' : 'before its result'}.${words}`,
      ...exitCode,
    };
  }
  if (!record.shown.resumed && sessionExists(stderr)) {
    record.resumable = true;
    return undefined;
  }
  if (code === 127) {
    return {
      reason: 'cli_missing',
      detail: `Claude Code was not found. Install it, or name it with --claude.${words}`,
      ...exitCode,
    };
  }
  if (code === 126) {
    return { reason: 'cli_not_executable', detail: `Claude Code may not be executed.${words}`, ...exitCode };
  }
  const reason = record.shown.resumed ? 'resume_failed' : 'start_failed';
  return {
    reason,
    detail: `Claude Code exited with status ${code} before it was ready.${words}`,
    ...exitCode,
  };
}

/** A run that died after its session was made, but before it showed `init` (seen on both CLIs). */
function sessionExists(stderr: string[]): boolean {
  return stderr.some((line) => /Session ID .* is already in use/.test(line));
}

/** Opens a run, the first of the agent or one that goes on, with a message that opens its turn, if it is to have one. */
export function openRun(draft: Draft, opening: Outgoing | undefined): RunRow {
  const { record } = draft;
  const row = draft.openRun(randomBytes(12).toString('base64url'));
  record.shown = { resumed: record.resumable, ready: false, init: false, message: false };
  record.cost = { before: record.cost.before + record.cost.run, run: 0 };
  record.calls = {};
  // Its input is empty.
  for (const message of record.messages) message.sent = false;
  draft.write('initialize', initializeLine(initializeId(record.run)));
  const turn = opening && openTurn(draft, opening);
  draft.move({ type: 'run', ...(turn && { turn }) }, { run: record.run });
  return { ...row, inputTo: draft.inputTo };
}

/** A new message in place of one that the CLI dropped, as it knew its uuid, or whose turn was cut. */
export function continueMessage(draft: Draft): Outgoing {
  const cut = Object.values(draft.record.calls);
  const calls =
    cut.length > 0
      ? ` These tool calls were cut off and may or may not have taken effect: ${cut.join(', ')}.`
      : '';
  return holdOwnMessage(
    draft,
    `Your work was interrupted because the process ended unexpectedly.${calls} Look at what is done, then go on where you were.`,
  );
}

/** The resumed CLI took our repeated message without a word: it knew it, so its turn was cut. */
export function replaceSilentMessage(draft: Draft): void {
  const { turn, record } = draft;
  if (!turn?.message || !record.shown.ready || record.shown.init) return;
  forget(draft, turn.message);
  const message = continueMessage(draft);
  send(draft, message);
  turn.message = message.id;
}

/** A new run because somebody asked for it, with a message or idle. */
export function reopen(draft: Draft, from: string, prompt: Content | undefined): RunRow {
  const { record } = draft;
  record.barren = 0;
  record.reminders = 0;
  delete record.closing;
  if (prompt === undefined) return openRun(draft, undefined);
  const { message } = queueMessage(draft, { from, content: prompt });
  return openRun(draft, { id: message, content: prompt });
}
