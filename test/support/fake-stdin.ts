/** What the real CLI makes of a line of its stdin, as 2.1.332 does: one bad line ends it. */
export type Judged =
  | { is: 'nothing' }
  /** It exits with status 1 and these words. */
  | { is: 'fatal'; words: string }
  | { is: 'user'; uuid?: string; content: unknown }
  | { is: 'request'; id: string; subtype: string }
  | { is: 'answer'; id: string; line: object };

type Json = { type?: unknown; [name: string]: unknown };

export function judge(line: string): Judged {
  if (line.trim() === '') return { is: 'nothing' };
  let json: Json | null;
  try {
    json = JSON.parse(line);
  } catch {
    return fatal(`(type=unknown, ${line.length} chars)`);
  }
  if (json === null) return fatal('null');
  switch (json.type) {
    case 'user':
      return user(json);
    case 'control_request':
      return request(json);
    case 'control_response':
      return answer(json);
    default:
      // Also what is no object, and `keep_alive`: read without a word.
      return { is: 'nothing' };
  }
}

function user({ message, uuid }: Json): Judged {
  const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown };
  if (role !== 'user') return fatal(`Expected message role 'user', got '${role}'`);
  return { is: 'user', content, ...(typeof uuid === 'string' && { uuid }) };
}

function request({ request_id: id, request }: Json): Judged {
  const { subtype } = (request ?? {}) as { subtype?: unknown };
  if (typeof subtype !== 'string') return fatal('Missing request on control_request');
  return { is: 'request', id: String(id), subtype };
}

/** With a `response_id` at the top, as the older bridge wrote it, it answers nothing. */
function answer(json: Json): Judged {
  const { request_id: id } = (json.response ?? {}) as { request_id?: unknown };
  return typeof id === 'string' ? { is: 'answer', id, line: json } : { is: 'nothing' };
}

function fatal(what: string): Judged {
  return { is: 'fatal', words: `Error parsing streaming input line: ${what}` };
}
