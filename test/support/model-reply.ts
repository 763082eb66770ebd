import type { Step, ToolCall } from './model-script.ts';

type Block =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> };

export interface Reply {
  id: string;
  model: string;
  blocks: Block[];
  stopReason: 'end_turn' | 'tool_use';
  inputTokens: number;
  /** UTF-16 units a delta. */
  chunk: number;
  /** Pause between two deltas, ms. */
  delayMs: number;
  /** The stream ends after the last block; a reply that isn't streamed can't be cut. */
  cut: boolean;
}

/** A step that is answered with a message. */
export type SpokenStep = Exclude<Step, { error: unknown } | { hang: true }>;

export interface ReplyIds {
  message: string;
  tool: (position: number) => string;
}

export function replyTo(
  request: { model: string; messages: readonly unknown[] },
  step: SpokenStep,
  ids: ReplyIds,
): Reply {
  const calls = toolCalls(step);
  const blocks: Block[] = [];
  if (step.thinking) blocks.push({ type: 'thinking', thinking: step.thinking, signature: 'c2NyaXB0ZWQ=' });
  if (step.say !== undefined) blocks.push({ type: 'text', text: step.say });
  for (const [position, { id, name, input }] of calls.entries()) {
    blocks.push({ type: 'tool_use', id: id ?? ids.tool(position), name, input });
  }
  return {
    id: ids.message,
    model: request.model,
    blocks,
    stopReason: calls.length > 0 ? 'tool_use' : 'end_turn',
    // Not the prompt's real size: a huge prompt would make the CLI compact its conversation.
    inputTokens: 1200 + 40 * request.messages.length,
    chunk: step.chunk ?? 200,
    delayMs: step.delayMs ?? 0,
    cut: 'cut' in step,
  };
}

function toolCalls(step: SpokenStep): ToolCall[] {
  if ('tools' in step) return step.tools;
  if ('tool' in step) return [{ name: step.tool, input: step.input, ...(step.id ? { id: step.id } : {}) }];
  return [];
}

/** The reply to a request that didn't ask for a stream. */
export function asMessage(reply: Reply) {
  return {
    id: reply.id,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content: reply.blocks,
    stop_reason: reply.stopReason,
    stop_sequence: null,
    usage: usage(reply, outputTokens(reply)),
  };
}

/** The reply as the events of a stream. */
export function* asEvents(reply: Reply) {
  const start = { ...asMessage(reply), content: [], stop_reason: null, usage: usage(reply, 1) };
  yield { type: 'message_start', message: start } as const;
  for (const [index, block] of reply.blocks.entries()) {
    yield { type: 'content_block_start', index, content_block: emptied(block) } as const;
    for (const delta of deltas(block, reply.chunk))
      yield { type: 'content_block_delta', index, delta } as const;
    yield { type: 'content_block_stop', index } as const;
  }
  if (reply.cut) return;
  const delta = { stop_reason: reply.stopReason, stop_sequence: null };
  yield { type: 'message_delta', delta, usage: { output_tokens: outputTokens(reply) } } as const;
  yield { type: 'message_stop' } as const;
}

function emptied(block: Block): Block {
  switch (block.type) {
    case 'thinking':
      return { ...block, thinking: '', signature: '' };
    case 'text':
      return { ...block, text: '' };
    case 'tool_use':
      return { ...block, input: {} };
    default:
      return block satisfies never;
  }
}

function* deltas(block: Block, chunk: number) {
  switch (block.type) {
    case 'thinking':
      for (const thinking of pieces(block.thinking, chunk))
        yield { type: 'thinking_delta', thinking } as const;
      yield { type: 'signature_delta', signature: block.signature } as const;
      return;
    case 'text':
      for (const text of pieces(block.text, chunk)) yield { type: 'text_delta', text } as const;
      return;
    case 'tool_use':
      for (const partial_json of pieces(JSON.stringify(block.input), chunk)) {
        yield { type: 'input_json_delta', partial_json } as const;
      }
      return;
    default:
      block satisfies never;
  }
}

/** Pieces of at most `size` units, or one more where the cut would part a surrogate pair. */
function* pieces(text: string, size: number) {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + size, text.length);
    if (to < text.length && (text.codePointAt(to - 1) ?? 0) > 0xffff) to++;
    yield text.slice(from, to);
    from = to;
  }
}

function usage(reply: Reply, output_tokens: number) {
  return {
    input_tokens: reply.inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens,
    service_tier: 'standard',
  };
}

function outputTokens({ blocks }: Reply): number {
  const size = blocks.reduce((sum, block) => sum + ('text' in block ? block.text.length : 100), 0);
  return Math.min(4000, 5 + Math.ceil(size / 4));
}
