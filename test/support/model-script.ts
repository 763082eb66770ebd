import { createHash } from 'node:crypto';
import { z } from 'zod';

/** How a reply is streamed: UTF-16 units a delta (default 200), a pause between deltas, and what is thought first. */
const pace = {
  chunk: z.int().positive().optional(),
  delayMs: z.number().nonnegative().optional(),
  thinking: z.string().optional(),
};
const toolInput = z.record(z.string(), z.unknown());
const toolCallSchema = z.strictObject({ name: z.string(), input: toolInput, id: z.string().optional() });

/** One reply of the scripted model. */
const stepSchema = z.union([
  /** Text, and the turn ends. */
  z.strictObject({ say: z.string(), ...pace }),
  /** One tool call, after some text if `say` is there. `id` replaces the generated tool_use id. */
  z.strictObject({
    tool: z.string(),
    input: toolInput,
    id: z.string().optional(),
    say: z.string().optional(),
    ...pace,
  }),
  /** Several tool calls in one reply. */
  z.strictObject({ tools: z.array(toolCallSchema).min(1), say: z.string().optional(), ...pace }),
  /** An HTTP error. It leaves no reply in the conversation, so a retry gets the same step again. */
  z.strictObject({ error: z.strictObject({ status: z.int(), type: z.string(), message: z.string() }) }),
  /** The stream ends after the text, tidily for HTTP, with no message_stop. */
  z.strictObject({ cut: z.literal(true), say: z.string(), ...pace }),
  /** No byte until the client leaves. */
  z.strictObject({ hang: z.literal(true) }),
]);
export type Step = z.infer<typeof stepSchema>;
export type ToolCall = z.infer<typeof toolCallSchema>;

export interface Script {
  /** The given name, else the hash. */
  name: string;
  /** Of the script as it stands in the prompt; part of the ids that the model gives out. */
  hash: string;
  steps: Step[];
}

/**
 * A prompt that tells the scripted model what to do, one step a reply. `<` is escaped inside, so a step may hold a
 * whole script of its own (the prompt of a subagent).
 */
export function script(
  steps: Step[],
  { name, words = 'Please follow this script.' }: { name?: string; words?: string } = {},
) {
  const attribute = name === undefined ? '' : ` name=${withoutTags(name)}`;
  return `${words}\n<script${attribute}>${withoutTags(steps)}</script>`;
}

function withoutTags(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

const opening = /^<script(?: name=("(?:[^"\\]|\\.)*"))?>/;

/** The last script in a text. Throws if there is one that can't be read. */
export function findScript(text: string): Script | undefined {
  const end = text.lastIndexOf('</script>');
  const start = end < 0 ? -1 : text.lastIndexOf('<script', end);
  if (start < 0) return undefined;
  const source = text.slice(start, end);
  const [tag, name] = opening.exec(source) ?? [];
  if (tag === undefined) return undefined;
  const hash = createHash('sha256').update(source).digest('hex').slice(0, 8);
  const steps = z.array(stepSchema).parse(JSON.parse(source.slice(tag.length)));
  // JSON.parse also copies: a slice would keep the whole prompt alive in the record of requests.
  return { name: name === undefined ? hash : z.string().parse(JSON.parse(name)), hash, steps };
}
