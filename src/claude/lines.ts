/**
 * Reading one line of the CLI's stdout: what it means to us. The line itself is passed on verbatim; here we
 * only take what we act on. Forms seen on CLI 2.1.197 and 2.1.332, and the older ones of the field.
 */
import { z } from 'zod';

export type Usage = {
  input_tokens?: number;
  output_tokens?: number;
  cache_read_input_tokens?: number;
  cache_creation_input_tokens?: number;
};

export type Ask = {
  requestId: string;
  tool: string;
  input: unknown;
  toolUse?: string;
  suggestions: unknown[];
  description?: string;
  /** The task id of a subagent of Claude's own that asks. */
  inner?: string;
};

export type CliLine =
  | { kind: 'init' }
  | {
      kind: 'assistant';
      message?: string;
      parent?: string;
      text: string;
      calls: { id: string; name: string }[];
      /** Of an ExitPlanMode call, which 2.1.332 asks about without it. */
      plan?: string;
      error?: string;
      /** The message's own stop reason says that the turn is over (older forms). */
      final?: true;
    }
  /** `results`: the tool use ids that it brings results for. `question`: a text that asks for a human. */
  | { kind: 'user'; results: string[]; question: boolean; uuid?: string }
  /** The session fell idle (older CLIs, and newer ones when asked to say so). */
  | { kind: 'silent' }
  /** What the CLI has taken in; `task`: by its own doing, word of that task's end. */
  | { kind: 'echo'; uuid: string; task?: string }
  | { kind: 'result'; result: Result }
  | { kind: 'stream'; event: StreamEvent; parent?: string }
  | { kind: 'ask'; ask: Ask }
  | { kind: 'request'; requestId: string; subtype: string }
  | { kind: 'withdrawn'; requestId: string }
  | { kind: 'reply'; requestId: string; error?: string }
  /** A subagent or a shell. `run`: it's in the background, so the CLI takes in word of its end later (2.1.332). */
  | { kind: 'taskStarted'; task: string; run?: string }
  | { kind: 'taskOver'; task: string; stopped: boolean }
  /** Not worth a fact: claude's own bookkeeping. */
  | { kind: 'noise' }
  /** Everything else is a fact and nothing more. */
  | { kind: 'other' };

export type Result = {
  isError: boolean;
  subtype: string;
  text?: string;
  errors: string[];
  stopReason: string | null;
  turns: number;
  /** Cumulative within the process. */
  costUsd?: number;
  usage?: Usage;
  /** It ends a turn that the CLI began by itself. */
  unasked?: true;
  /** The run of the task whose end opened that turn (2.1.332). */
  run?: string;
  /** The turn was interrupted, not ended by a failure. */
  aborted?: true;
};

export type StreamEvent =
  | { type: 'message_start'; message: string }
  | { type: 'content_block_start'; index: number; block: { type: string; id?: string; name?: string } }
  | { type: 'content_block_delta'; index: number; kind: 'text' | 'thinking' | 'input'; text: string }
  | { type: 'message_stop' };

export type ReadLine = { line: CliLine; session?: string };

/** Reads a parsed line. Never throws: what doesn't fit a form that we know is `other`. */
export function readLine(json: Record<string, unknown>): ReadLine {
  const session = typeof json.session_id === 'string' && json.session_id ? json.session_id : undefined;
  return { line: meaning(json), ...(session && { session }) };
}

function meaning(json: Record<string, unknown>): CliLine {
  switch (json.type) {
    case 'stream_event':
      return streamLine(json);
    case 'assistant':
      return assistantLine(json);
    case 'user':
      return json.isReplay === true && typeof json.uuid === 'string'
        ? echoLine(json, json.uuid)
        : userLine(json);
    case 'result':
      return resultLine(json);
    case 'control_request':
      return requestLine(json);
    case 'control_response':
      return replyLine(json);
    case 'control_cancel_request':
      return typeof json.request_id === 'string'
        ? { kind: 'withdrawn', requestId: json.request_id }
        : { kind: 'noise' };
    case 'system':
      return systemLine(json);
    case 'session_state_changed':
      return json.state === 'idle' ? { kind: 'silent' } : { kind: 'other' };
    case 'keep_alive':
    case 'command_lifecycle':
      return { kind: 'noise' };
    case undefined:
      return json.role === 'assistant' ? assistantLine(json) : { kind: 'other' };
    default:
      return { kind: 'other' };
  }
}

const textBlock = z.object({ type: z.literal('text'), text: z.string() });
const callBlock = z.object({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.looseObject({ plan: z.string().optional() }).catch({}),
});
/** `tool_use` and `pause_turn` go on. */
const finalReasons = ['end_turn', 'stop_sequence', 'max_tokens', 'refusal'];
const resultBlock = z.object({ type: z.literal('tool_result'), tool_use_id: z.string() });

function assistantLine(json: Record<string, unknown>): CliLine {
  const message = (json.message ?? json) as { id?: unknown };
  const blocks = contentOf(json);
  const calls = blocks.flatMap((block) => callBlock.safeParse(block).data ?? []);
  const plan = calls.find(({ name }) => name === 'ExitPlanMode')?.input.plan;
  return {
    kind: 'assistant',
    text: blocks.map((block) => textBlock.safeParse(block).data?.text ?? '').join(''),
    calls: calls.map(({ id, name }) => ({ id, name })),
    ...(plan !== undefined && { plan }),
    ...(finalReasons.includes(json.stop_reason as string) && { final: true }),
    ...(typeof message.id === 'string' && { message: message.id }),
    ...parentOf(json),
    ...(typeof json.error === 'string' && { error: json.error }),
  };
}

/** From `content` or `message.content`: both forms are in the field. */
function contentOf(json: Record<string, unknown>): unknown[] {
  const content = json.content ?? (json.message as { content?: unknown } | undefined)?.content;
  return Array.isArray(content) ? content : [];
}

/** Word of a task's end that is taken in during a turn comes as an echo (seen on both CLIs). */
function echoLine(json: Record<string, unknown>, uuid: string): CliLine {
  const { content } = (json.message ?? {}) as { content?: unknown };
  const [, task] = /^<task-notification>\s*<task-id>([^<]+)</.exec(String(content)) ?? [];
  return { kind: 'echo', uuid, ...(task && { task }) };
}

/** Tool results, synthetic texts, subagents' prompts, notes of an interrupt; the rest is a question. */
function userLine(json: Record<string, unknown>): CliLine {
  const blocks = contentOf(json);
  const { content } = (json.message ?? json) as { content?: unknown };
  const texts =
    typeof content === 'string' ? [content] : blocks.map((one) => textBlock.safeParse(one).data?.text);
  const isText = texts.length > 0 && texts.every((text) => text !== undefined);
  const ours = json.isReplay || json.isSynthetic || json.parent_tool_use_id || json.tool_use_result;
  return {
    kind: 'user',
    results: blocks.flatMap((block) => resultBlock.safeParse(block).data?.tool_use_id ?? []),
    question: isText && !ours && !texts[0]?.startsWith('[Request interrupted'),
    ...(typeof json.uuid === 'string' && { uuid: json.uuid }),
  };
}

function parentOf(json: Record<string, unknown>): { parent?: string } {
  return typeof json.parent_tool_use_id === 'string' ? { parent: json.parent_tool_use_id } : {};
}

const count = z.number().optional().catch(undefined);
const usageSchema = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
});
const resultSchema = z.object({
  is_error: z.boolean().catch(false),
  subtype: z.string().catch(''),
  result: z.string().optional().catch(undefined),
  errors: z.array(z.string()).catch([]),
  stop_reason: z.string().nullable().catch(null),
  num_turns: z.number().catch(0),
  total_cost_usd: count,
  usage: usageSchema.optional().catch(undefined),
  origin: z.object({ kind: z.string(), runId: z.string().optional() }).optional().catch(undefined),
  terminal_reason: z.string().optional().catch(undefined),
});

function resultLine(json: Record<string, unknown>): CliLine {
  const read = resultSchema.parse(json);
  return {
    kind: 'result',
    result: {
      isError: read.is_error,
      subtype: read.subtype,
      ...(read.result !== undefined && { text: read.result }),
      errors: read.errors,
      stopReason: read.stop_reason,
      turns: read.num_turns,
      ...(read.total_cost_usd !== undefined && { costUsd: read.total_cost_usd }),
      ...(read.usage && { usage: read.usage }),
      ...(read.origin?.kind === 'task-notification' && { unasked: true }),
      ...(read.origin?.runId && { run: read.origin.runId }),
      ...(read.terminal_reason?.startsWith('aborted') && { aborted: true }),
    },
  };
}

const askSchema = z.object({
  request_id: z.string(),
  request: z.object({
    subtype: z.literal('can_use_tool'),
    tool_name: z.string(),
    input: z.unknown(),
    tool_use_id: z.string().optional().catch(undefined),
    permission_suggestions: z.array(z.unknown()).catch([]),
    description: z.string().optional().catch(undefined),
    agent_id: z.string().optional().catch(undefined),
  }),
});
const requestSchema = z.object({ request_id: z.string(), request: z.object({ subtype: z.string() }) });

function requestLine(json: Record<string, unknown>): CliLine {
  const ask = askSchema.safeParse(json);
  if (ask.success) {
    const { request_id, request } = ask.data;
    return {
      kind: 'ask',
      ask: {
        requestId: request_id,
        tool: request.tool_name,
        input: request.input,
        suggestions: request.permission_suggestions,
        ...(request.tool_use_id && { toolUse: request.tool_use_id }),
        ...(request.description && { description: request.description }),
        ...(request.agent_id && { inner: request.agent_id }),
      },
    };
  }
  const other = requestSchema.safeParse(json);
  if (!other.success) return { kind: 'noise' };
  return { kind: 'request', requestId: other.data.request_id, subtype: other.data.request.subtype };
}

const replySchema = z.object({
  response: z.object({ subtype: z.string(), request_id: z.string(), error: z.string().optional().catch('') }),
});

function replyLine(json: Record<string, unknown>): CliLine {
  const reply = replySchema.safeParse(json);
  if (!reply.success) return { kind: 'noise' };
  const { subtype, request_id, error } = reply.data.response;
  return { kind: 'reply', requestId: request_id, ...(subtype === 'error' && { error: error ?? '' }) };
}

function systemLine(json: Record<string, unknown>): CliLine {
  const task = typeof json.task_id === 'string' ? json.task_id : undefined;
  switch (json.subtype) {
    case 'init':
      return { kind: 'init' };
    case 'task_started':
      return task ? { kind: 'taskStarted', task, ...backgroundRun(json) } : { kind: 'other' };
    case 'task_notification':
      return task ? { kind: 'taskOver', task, stopped: json.status === 'stopped' } : { kind: 'other' };
    case 'session_state_changed':
      return json.state === 'idle' ? { kind: 'silent' } : { kind: 'other' };
    case 'thinking_tokens':
      return { kind: 'noise' };
    case 'status':
      return json.status === 'requesting' && json.permissionMode === undefined
        ? { kind: 'noise' }
        : { kind: 'other' };
    default:
      return { kind: 'other' };
  }
}

function backgroundRun({ is_backgrounded, run_id }: Record<string, unknown>): { run?: string } {
  return is_backgrounded === true && typeof run_id === 'string' ? { run: run_id } : {};
}

const deltaText = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
} as const;
const deltaKind = { text_delta: 'text', thinking_delta: 'thinking', input_json_delta: 'input' } as const;

/** By hand, as nine of ten lines come here. A form that we don't know carries no live text: noise. */
function streamLine(json: Record<string, unknown>): CliLine {
  const event = readStreamEvent((json.event ?? {}) as Record<string, unknown>);
  return event ? { kind: 'stream', event, ...parentOf(json) } : { kind: 'noise' };
}

function readStreamEvent(event: Record<string, unknown>): StreamEvent | undefined {
  const index = typeof event.index === 'number' ? event.index : 0;
  switch (event.type) {
    case 'message_start': {
      const id = (event.message as { id?: unknown } | undefined)?.id;
      return typeof id === 'string' ? { type: 'message_start', message: id } : undefined;
    }
    case 'content_block_start': {
      const block = event.content_block as { type?: unknown; id?: string; name?: string } | undefined;
      return typeof block?.type === 'string'
        ? {
            type: 'content_block_start',
            index,
            block: {
              type: block.type,
              ...(block.id && { id: block.id }),
              ...(block.name && { name: block.name }),
            },
          }
        : undefined;
    }
    case 'content_block_delta': {
      const delta = (event.delta ?? {}) as Record<string, unknown>;
      const type = delta.type as keyof typeof deltaText;
      const text = delta[deltaText[type]];
      return typeof text === 'string' && text
        ? { type: 'content_block_delta', index, kind: deltaKind[type], text }
        : undefined;
    }
    case 'message_stop':
      return { type: 'message_stop' };
    default:
      return undefined;
  }
}
