import { type CliLine, readLine } from '../claude/lines.ts';
import type { RawLine } from '../claude/output.ts';
import { refusalLine } from '../claude/stdin.ts';
import type { Draft } from './draft.ts';
import { fail, keepText, tellPiece } from './ending.ts';
import { asked, withdrawn } from './permissions.ts';
import { isEnded } from './state.ts';
import { consumed, openOwnTurn, resultCame } from './turns.ts';

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
      message: `Claude Code wrote ${noise} lines that are no messages; they were skipped.`,
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
      for (const id of line.results) delete draft.record.calls[id];
      draft.verbatim('message', raw.text);
      return;
    case 'echo':
      draft.verbatim('message', raw.text);
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
    case 'task':
      return task(draft, line, raw.text);
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
  if (draft.record.state.is === 'idle') openOwnTurn(draft);
  draft.verbatim('message', raw);
}

function stream(draft: Draft, { event, parent }: Of<'stream'>, from: number): void {
  const { piece, broken } = draft.live.take(event, from, parent);
  for (const lost of broken) tellPiece(draft, lost);
  if (piece) draft.delta(piece);
}

/** The k-th assistant line of a message id is its block k (seen on 2.1.197 and 2.1.332). */
function assistant(draft: Draft, line: Of<'assistant'>, raw: string): void {
  const { record } = draft;
  for (const { id, name } of line.calls) record.calls[id] = name;
  if (line.error && draft.turn) draft.turn.error = line.error;
  if (!line.error) {
    record.shown.message = true;
    record.barren = 0;
  }
  if (line.text && !line.parent) keepText(draft, line.text);
  if (!line.message) {
    draft.verbatim('message', raw);
    return;
  }
  const key = line.parent ?? '';
  const known = record.blocks[key];
  const block = known?.message === line.message ? known.next : 0;
  record.blocks[key] = { message: line.message, next: block + 1 };
  draft.live.settleNext(line.message, line.parent);
  draft.verbatim('message', raw, { message: line.message, block });
}

function reply(draft: Draft, { requestId, error }: Of<'reply'>): void {
  if (requestId !== initializeId(draft.record.run)) return;
  if (error !== undefined) {
    fail(draft, { reason: 'start_failed', detail: `Claude Code refused to initialize: ${error}` });
    return;
  }
  draft.record.shown.ready = true;
  draft.move({ type: 'ready' }, { run: draft.record.run });
}

function task(draft: Draft, { task: id, open }: Of<'task'>, raw: string): void {
  const others = draft.record.tasks.filter((known) => known !== id);
  draft.record.tasks = open ? [...others, id] : others;
  draft.verbatim('message', raw);
}
