import { z } from 'zod';
import { findScript, type Script } from './model-script.ts';

const blockSchema = z.object({ type: z.string(), text: z.string().optional(), id: z.string().optional() });
type Block = z.infer<typeof blockSchema>;

const messageSchema = z.object({
  role: z.string(),
  content: z.union([z.string().transform((text): Block[] => [{ type: 'text', text }]), z.array(blockSchema)]),
});
type Message = z.infer<typeof messageSchema>;

/** What we read of the body of POST /v1/messages. */
export const messagesRequestSchema = z.object({
  model: z.string(),
  stream: z.boolean().default(false),
  max_tokens: z.number().optional(),
  tools: z.array(z.unknown()).default([]),
  messages: z.array(messageSchema),
});
export type MessagesRequest = z.infer<typeof messagesRequestSchema>;

export type Asked =
  /** Not an agent speaking: a title, a classifier, a summary, a warm-up. */
  | { kind: 'side' }
  /** An agent whose conversation holds no script. */
  | { kind: 'plain' }
  /** An agent at a step of its script; `index` may lie beyond the last. */
  | { kind: 'step'; script: Script; index: number };

/**
 * What a request asks for, told from its conversation alone: the newest script in a text that isn't the model's, and
 * the number of replies since. (A message sent mid-turn comes from 2.1.197 as a note of role `system`.) Later user
 * texts without a script (steering, notifications, "continue") leave the count as it is. So a step that left no reply
 * is asked for again: after an error, or when the CLI was killed before it had a finished block.
 */
export function whatIsAsked(request: MessagesRequest): Asked {
  if (isSideRequest(request)) return { kind: 'side' };
  const { messages } = request;
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at];
    if (!message || message.role === 'assistant') continue;
    const block = message.content.findLastIndex((part) => part.text?.includes('</script>'));
    const found = block < 0 ? undefined : findScript(message.content[block]?.text ?? '');
    if (!found) continue;
    const rest = { role: message.role, content: message.content.slice(block + 1) };
    return { kind: 'step', script: found, index: repliesIn([rest, ...messages.slice(at + 1)], found) };
  }
  return { kind: 'plain' };
}

const summaryOrder = /Your task is to create a detailed summary/;

function isSideRequest({ tools, max_tokens, messages }: MessagesRequest): boolean {
  if (tools.length === 0 || max_tokens === 1) return true;
  return messages.at(-1)?.content.some(({ text }) => text !== undefined && summaryOrder.test(text)) ?? false;
}

/** The replies in the messages that follow a script. */
function repliesIn(messages: Message[], { hash }: Script): number {
  let count = 0;
  let lastWasReply = false;
  for (const { role, content } of messages) {
    // Notes of the CLI, which may stand anywhere.
    if (role === 'system') continue;
    const isReply = role === 'assistant' && !content.every(isInventedByCli);
    const step = isReply ? stepOfTools(content, hash) : undefined;
    if (step !== undefined) count = step + 1;
    else if (isReply && !lastWasReply) count++;
    // A step that was interrupted before its first finished block leaves only this note.
    else if (!isReply && !lastWasReply && content.some(isInterruptNote)) count++;
    lastWasReply = isReply;
  }
  return count;
}

/** The CLI fills a gap in a resumed conversation with an assistant message of its own. */
function isInventedByCli({ type, text }: Block): boolean {
  return type === 'text' && (text === 'No response requested.' || text === '(no content)');
}

function isInterruptNote({ type, text }: Block): boolean {
  return type === 'text' && text?.trim() === '[Request interrupted by user]';
}

/** The step goes into the ids of its tools, which come back in the conversation: proof against split messages. */
export function toolId(script: Script, index: number, unique: string): string {
  return `toolu_${script.hash}_${index}_${unique}`;
}

function stepOfTools(content: Block[], hash: string): number | undefined {
  for (const { type, id } of content) {
    const [, of, step] = type === 'tool_use' ? (id?.split('_') ?? []) : [];
    if (of === hash) return Number(step);
  }
  return undefined;
}
