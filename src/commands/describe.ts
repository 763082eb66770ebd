import type { AgentView, Fact, Snapshot } from '../../client/index.ts';
import { plain, short } from './output.ts';

/** An event in a line, or nothing where people need not know. Text of the agent itself is left whole. */
export function describe(fact: Fact): string | undefined {
  switch (fact.type) {
    case 'agent.created':
      return `created: ${short(promptOf(fact.data.task))}`;
    case 'agent.state':
      return stateOf(fact.data);
    case 'agent.notice':
      return `notice: ${short(fact.data.message, 300)}`;
    case 'message':
      return [...textsIn(fact), ...toolsIn(fact)].join('\n') || undefined;
    case 'message.queued':
      return `message from ${short(fact.data.from)}: ${short(textOf(fact.data.content))}`;
    case 'message.dropped':
      return `a message was not read: ${short(fact.data.reason)}`;
    case 'permission.requested':
      return asking(fact.data);
    case 'permission.resolved': {
      const { outcome, by, message } = fact.data;
      return `${outcome}${by === undefined ? '' : ` by ${short(by)}`}${message ? `: ${short(message)}` : ''}`;
    }
    case 'permission.voided':
      return 'the answer came too late: nothing was done';
    case 'agent.budget':
      return `${fact.data.what}: ${fact.data.used} of ${fact.data.limit} (${fact.data.level})`;
    case 'agent.mail':
      return `mail to ${fact.data.to}: ${short(textOf(fact.data.content))}`;
    case 'agent.stderr':
      return `stderr: ${short(fact.data.lines.join(' '), 300)}`;
    // Told otherwise, or only of interest to programs.
    case 'agent.usage':
    case 'agent.progress':
    case 'agent.result':
    case 'message.consumed':
      return undefined;
    default:
      fact satisfies never;
      return undefined;
  }
}

export function stateOf({ state, reason, detail, position, resuming, waiting }: Partial<AgentView>): string {
  const why = resuming ? 'will go on' : (detail ?? reason);
  const place = position === undefined ? '' : ` (place ${position})`;
  const wait = waiting === undefined ? '' : ` (waits for ${awaited(waiting)})`;
  return `${state}${place}${wait}${why ? `: ${short(why, 300)}` : ''}`;
}

function awaited({ for: what, ids }: NonNullable<AgentView['waiting']>): string {
  return what === 'human' ? `an answer to ${ids.join(', ')}` : what;
}

type Asked = Pick<Snapshot['permissions'][number], 'permission' | 'tool' | 'input' | 'size'>;

/** A permission that waits. */
export function asking({ permission, tool, input, size }: Asked): string {
  return `asks (${permission}): ${short(tool)} ${input ? inputOf(input) : `(${size} units of input)`}`;
}

/** What a tool is asked to do. */
export function inputOf(input: Readonly<Record<string, unknown>>): string {
  const { command, file_path: file } = input;
  return short(
    typeof command === 'string' ? command : typeof file === 'string' ? file : JSON.stringify(input),
    300,
  );
}

export function promptOf({ prompt }: AgentView['task']): string {
  return prompt === undefined || prompt === null ? '' : textOf(prompt);
}

function textOf(content: string | readonly { type: string }[]): string {
  if (typeof content === 'string') return content;
  return content.map((block) => ('text' in block ? String(block.text) : `[${block.type}]`)).join(' ');
}

/** What we read of the CLI's lines. */
interface Line {
  type: string;
  message?: { content?: unknown };
}

interface Block {
  type: string;
  text?: string;
  name?: string;
  input?: Record<string, unknown>;
}

/** The tools that a message of Claude's calls. */
export function toolsIn(fact: Fact<'message'>): string[] {
  const calls = blocksIn(fact).filter(({ type }) => type === 'tool_use');
  return calls.map(({ name = 'a tool', input = {} }) => `${short(name)} ${inputOf(input)}`);
}

function textsIn(fact: Fact<'message'>): string[] {
  return blocksIn(fact).flatMap(({ type, text }) => (type === 'text' && text ? plain(text) : []));
}

function blocksIn({ data }: Fact<'message'>): Block[] {
  const { type, message } = data as Line;
  return type === 'assistant' && Array.isArray(message?.content) ? message.content : [];
}
