import { type CliLine, readLine } from '../claude/lines.ts';
import type { RawLine } from '../claude/output.ts';
import { refusalLine } from '../claude/stdin.ts';
import type { Draft } from './draft.ts';
import { fail, keepText, tellPiece } from './ending.ts';
import { consumed } from './messages.ts';
import { asked, withdrawn, withdrawTask } from './permissions.ts';
import { answerQuestion, resultCame, turnFellSilent } from './results.ts';
import { isEnded } from './state.ts';
import { turnBegan } from './turns.ts';

/** The id of a run's `initialize` request. */
export function initializeId(run: number): string {
  return `initialize-${run}`;
}

/** Takes in lines of the CLI's stdout. Lines before `factsTo` are facts already and only rebuild the live text. */
export function hear(draft: Draft, lines: readonly RawLine[], factsTo: number): void {
  let noise = 0;
  for (const line of lines) {
    if (isEnded(draft.record.state)) break;
    const json = parse(line.text);
    if (!json) noise += Number(line.from >= factsTo && line.text !== '');
    else if (line.from < factsTo) rebuild(draft, json, line);
    else hearLine(draft, json, line as RawLine & { text: string });
  }
  if (noise > 0) {
    draft.fact('agent.notice', {
      code: 'noise',
      message: `Claude Code wrote ${noise} lines that were skipped: they are no messages, or too long for one.`,
      lines: noise,
    });
  }
}

function parse(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(text ?? '');
    return typeof json === 'object' && json !== null && !Array.isArray(json)
      ? (json as Record<string, unknown>)
      : undefined;
  } catch {
    // Banners and torn lines are counted by the caller.
    return undefined;
  }
}

function rebuild(draft: Draft, json: Record<string, unknown>, { from }: RawLine): void {
  const { line } = readLine(json);
  if (line.kind === 'stream') draft.live.take(line.event, from, line.parent);
  if (line.kind === 'assistant' && line.message) draft.live.settleNext(line.message, line.parent);
}

function hearLine(draft: Draft, json: Record<string, unknown>, raw: RawLine & { text: string }): void {
  const { line, session } = readLine(json);
  if (session) draft.record.session = session;
  switch (line.kind) {
    case 'init':
      return init(draft, raw.text);
    case 'stream':
      return stream(draft, line, raw.from);
    case 'assistant':
      return assistant(draft, line, raw.text);
    case 'user':
      return user(draft, line, raw.text);
    case 'silent':
      draft.verbatim('message', raw.text);
      return turnFellSilent(draft);
    case 'echo':
      draft.verbatim('message', raw.text);
      if (line.task) delete draft.record.tasks[line.task];
      return consumed(draft, line.uuid);
    case 'result':
      return resultCame(draft, line.result, raw.text);
    case 'ask':
      return asked(draft, line.ask);
    case 'withdrawn':
      return withdrawn(draft, line.requestId);
    case 'request':
      draft.write('refusal', refusalLine(line.requestId, `not supported: ${line.subtype}`), line.requestId);
      return;
    case 'reply':
      return reply(draft, line);
    case 'taskStarted':
      draft.record.tasks[line.task] = line.run ? { run: line.run } : {};
      draft.verbatim('message', raw.text);
      return;
    case 'taskOver':
      return taskOver(draft, line, raw.text);
    case 'noise':
      return;
    case 'other':
      draft.verbatim('message', raw.text);
      return;
    default:
      line satisfies never;
  }
}

type Of<K extends CliLine['kind']> = Extract<CliLine, { kind: K }>;

/** Written at the start of every turn, also of one that the CLI starts by itself. */
function init(draft: Draft, raw: string): void {
  draft.record.shown.init = true;
  draft.record.resumable = true;
  turnBegan(draft);
  draft.verbatim('message', raw);
}

/** Mostly tool results; a text that nobody of us sent is a question that would wait for a human. */
function user(draft: Draft, line: Of<'user'>, raw: string): void {
  for (const id of line.results) delete draft.record.calls[id];
  draft.verbatim('message', raw);
  const ours = line.uuid !== undefined && draft.ourUuids.has(line.uuid);
  if (line.question && !ours && !draft.agent.task.keepOpen) answerQuestion(draft);
}

function stream(draft: Draft, { event, parent }: Of<'stream'>, from: number): void {
  if (draft.turn) draft.turn.heard = true;
  const { piece, broken } = draft.live.take(event, from, parent);
  for (const lost of broken) tellPiece(draft, lost);
  if (piece) draft.delta(piece);
}

function assistant(draft: Draft, line: Of<'assistant'>, raw: string): void {
  const { record } = draft;
  for (const { id, name } of line.calls) record.calls[id] = name;
  if (line.plan !== undefined) record.plan = line.plan;
  const { turn } = draft;
  if (turn) turn.heard = true;
  if (turn && line.error) turn.error = line.error;
  if (turn && !line.parent && holdsPromise(draft, line.text)) turn.promised = true;
  if (!line.error) {
    record.shown.message = true;
    record.barren = 0;
  }
  // An API error's text is the CLI's own, not the agent's.
  if (line.text && !line.parent && !line.error) keepText(draft, line.text);
  draft.verbatim('message', raw, placeOf(draft, line));
  if (line.final && !line.parent) turnFellSilent(draft);
}

function holdsPromise({ agent }: Draft, text: string): boolean {
  const phrase = agent.task.completionPhrase;
  return phrase !== undefined && text.includes(`<promise>${phrase}</promise>`);
}

/** The k-th assistant line of a message id is its block k (seen on 2.1.197 and 2.1.332). */
function placeOf({ record, live }: Draft, line: Of<'assistant'>): { message?: string; block?: number } {
  if (!line.message) return {};
  const key = line.parent ?? '';
  const known = record.blocks[key];
  const block = known?.message === line.message ? known.next : 0;
  record.blocks[key] = { message: line.message, next: block + 1 };
  live.settleNext(line.message, line.parent);
  return { message: line.message, block };
}

function reply(draft: Draft, { requestId, error }: Of<'reply'>): void {
  if (requestId !== initializeId(draft.record.run)) return;
  if (error !== undefined) {
    fail(draft, { reason: 'start_failed', detail: `Claude Code refused to initialize: ${error}` });
    return;
  }
  draft.record.shown.ready = true;
  draft.move({ type: 'ready', at: draft.at }, { run: draft.record.run });
}

/** One in the background stays open until the CLI has taken in word of its end: a turn may be opened for that. */
function taskOver(draft: Draft, { task: id, stopped }: Of<'taskOver'>, raw: string): void {
  if (stopped || !draft.record.tasks[id]?.run) delete draft.record.tasks[id];
  withdrawTask(draft, id);
  draft.move({ type: 'stirred', at: draft.at });
  draft.verbatim('message', raw);
}
