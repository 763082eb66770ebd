/** What the fake CLI does in a turn: data in the prompt, one act after the other. */
export type Act =
  /** JSON lines, as they stand. */
  | { lines: object[] }
  /** Text as it stands, `chunk` bytes a write. */
  | { raw: string; chunk?: number }
  /** An assistant line with a text of so many letters. */
  | { long: number }
  | { stderr: string }
  /** Waits for an answer to that request, or for a further user message. */
  | { until: { answerTo: string } | 'message' }
  /** Writes down, as a line of type `received`, what came on stdin so far, but for long lines. */
  | { report: true }
  /** A model that doesn't answer: the CLI listens, and an interrupt ends the turn. */
  | { wait: true }
  /** A CLI that is as good as dead: it listens to nothing more, and keeps its output open. */
  | { hang: true }
  | { exit: number };

/** What it does before its first turn: `FAKE_CLAUDE` in the task's `env`, as JSON. */
export type Start = {
  /** Text that it writes first. */
  banner?: string;
  ignoreSigterm?: true;
  /** Exits with status 1 and these words when it has read so many bytes of stdin. */
  exitAt?: { byte: number; words: string };
  /** Never says that it's ready. */
  mute?: true;
};

const word = 'Play: ';

/** A prompt with the acts on its first line; whatever follows is only read. */
export function play(acts: readonly Act[], more = ''): string {
  return `${word}${JSON.stringify(acts)}\n${more}`;
}

/** The acts of a prompt. One without any is answered at once. */
export function actsIn(content: unknown): Act[] {
  if (typeof content !== 'string' || !content.startsWith(word)) return [{ lines: [says('Done.'), result()] }];
  return JSON.parse(content.slice(word.length, content.indexOf('\n')));
}

/** A complete block of text. Forms seen on 2.1.332, without what nobody reads. */
export function says(text: string, more: object = {}): object {
  const message = { id: `msg_${++messages}`, type: 'message', role: 'assistant', stop_reason: null };
  const content = [{ type: 'text', text }];
  return { type: 'assistant', message: { ...message, content }, parent_tool_use_id: null, ...more };
}
let messages = 0;

/** The end of a turn that went well, unless `more` says otherwise. */
export function result(more: object = {}): object {
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    num_turns: 1,
    stop_reason: 'end_turn',
    total_cost_usd: 0.01,
    usage: { input_tokens: 1, output_tokens: 2 },
    ...more,
  };
}

/** Live text of a message's block 0, in pieces. */
export function streams(message: string, ...pieces: string[]): object[] {
  const events = [
    { type: 'message_start', message: { id: message } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...pieces.map((text) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text },
    })),
  ];
  return events.map((event) => ({ type: 'stream_event', event, parent_tool_use_id: null }));
}

export function asks(request_id: string, tool_name: string, input: object): object {
  const request = { subtype: 'can_use_tool', tool_name, input, tool_use_id: `toolu_${request_id}` };
  return { type: 'control_request', request_id, request };
}
