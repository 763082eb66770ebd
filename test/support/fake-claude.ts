/**
 * A stand-in for the CLI, for faults that the real one can't be made to show. As strict as the real one with its
 * arguments and its stdin; what it writes in a turn stands in the prompt.
 */
import { writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Act, actsIn, type Start, says } from './fake-acts.ts';
import { type Judged, judge } from './fake-stdin.ts';

const flag = { type: 'boolean' } as const;
const text = { type: 'string' } as const;
const options = {
  ...{ version: flag, print: flag, verbose: flag, 'strict-mcp-config': flag },
  ...{ 'include-partial-messages': flag, 'replay-user-messages': flag },
  'dangerously-skip-permissions': flag,
  ...{ 'input-format': text, 'output-format': text, 'permission-prompt-tool': text, 'permission-mode': text },
  ...{ settings: text, 'session-id': text, resume: text, model: text, 'append-system-prompt': text },
  allowedTools: { ...text, multiple: true },
  disallowedTools: { ...text, multiple: true },
} as const;

type User = Extract<Judged, { is: 'user' }>;

class FakeClaude {
  readonly #session: string;
  readonly #start: Start;
  readonly #received: string[] = [];
  readonly #waiting: User[] = [];
  readonly #known = new Set<string>();
  #answers = new Set<string>();
  /** Ends the wait of the open turn. */
  #wake = Promise.withResolvers<'interrupted' | 'heard'>();
  #isPlaying = false;
  #isDeaf = false;
  #wentWell = true;

  constructor(session: string, start: Start) {
    this.#session = session;
    this.#start = start;
    if (start.banner) write(start.banner);
    // Listening alone keeps it from ending the process.
    if (start.ignoreSigterm) process.on('SIGTERM', () => {});
  }

  /** Reads stdin to its end. */
  async listen(): Promise<void> {
    const { byte = Number.POSITIVE_INFINITY, words = '' } = this.#start.exitAt ?? {};
    let bytes = 0;
    let rest = '';
    for await (const chunk of process.stdin.setEncoding('utf8') as AsyncIterable<string>) {
      bytes += chunk.length;
      if (bytes >= byte) die(words);
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (!this.#isDeaf) this.#hear(line);
    }
  }

  #hear(line: string): void {
    if (line.length > 0 && line.length < 2_000) this.#received.push(line);
    const judged = judge(line);
    switch (judged.is) {
      case 'fatal':
        return die(judged.words);
      case 'user':
        return this.#take(judged);
      case 'request':
        return this.#serve(judged.id, judged.subtype);
      case 'answer':
        this.#answers.add(judged.id);
        // The host's own answers come back (seen on both).
        this.#tell(judged.line);
        return this.#wake.resolve('heard');
      case 'nothing':
        return;
      default:
        judged satisfies never;
    }
  }

  #serve(request_id: string, subtype: string): void {
    const succeed = (response: object) =>
      this.#tell({ type: 'control_response', response: { subtype: 'success', request_id, response } });
    switch (subtype) {
      case 'initialize':
        if (!this.#start.mute) succeed({ commands: [], models: [], account: {}, pid: process.pid });
        return;
      case 'interrupt':
        succeed({ still_queued: [] });
        return this.#wake.resolve('interrupted');
      case 'set_model':
      case 'set_permission_mode':
        return succeed({});
      case 'end_session':
        succeed({});
        return process.exit(this.#isPlaying || !this.#wentWell ? 1 : 0);
      default: {
        const error = `Unsupported control request subtype: ${subtype}`;
        this.#tell({ type: 'control_response', response: { subtype: 'error', request_id, error } });
      }
    }
  }

  /** A uuid that it knows is dropped without a turn, but echoed (seen on both). */
  #take(user: User): void {
    const isKnown = user.uuid !== undefined && this.#known.has(user.uuid);
    if (isKnown) return this.#echo(user);
    if (user.uuid) this.#known.add(user.uuid);
    this.#waiting.push(user);
    this.#wake.resolve('heard');
    if (!this.#isPlaying) void this.#playAll();
  }

  #echo({ uuid, content }: User): void {
    const message = { role: 'user', content: String(content).slice(0, 100) };
    this.#tell({ type: 'user', message, uuid, isReplay: true, parent_tool_use_id: null });
  }

  async #playAll(): Promise<void> {
    this.#isPlaying = true;
    for (let user = this.#waiting.shift(); user; user = this.#waiting.shift()) {
      this.#tell({ type: 'system', subtype: 'init', cwd: process.cwd(), tools: [] });
      this.#echo(user);
      await this.#play(actsIn(user.content));
    }
    this.#isPlaying = false;
  }

  async #play(acts: readonly Act[]): Promise<void> {
    for (const act of acts) {
      if ('lines' in act) for (const line of act.lines) this.#tell(line);
      else if ('raw' in act) write(act.raw, act.chunk);
      else if ('long' in act) this.#tell(says('x'.repeat(act.long)));
      else if ('stderr' in act) writeSync(2, act.stderr);
      else if ('report' in act)
        this.#tell({ type: 'received', lines: this.#received.map((line) => JSON.parse(line)) });
      else if ('exit' in act) process.exit(act.exit);
      else if ('hang' in act) return this.#hang();
      else if (!(await this.#wait(act))) return this.#interrupted();
    }
  }

  /** False if an interrupt ended it. */
  async #wait(act: Extract<Act, { until: unknown } | { wait: true }>): Promise<boolean> {
    while (!this.#isOver(act)) {
      this.#wake = Promise.withResolvers();
      if ((await this.#wake.promise) === 'interrupted') return false;
    }
    return true;
  }

  #isOver(act: Extract<Act, { until: unknown } | { wait: true }>): boolean {
    if ('wait' in act) return false;
    if (act.until !== 'message') return this.#answers.has(act.until.answerTo);
    // What comes within a turn is put into it, without a turn of its own (seen on both).
    const user = this.#waiting.shift();
    if (user) this.#echo(user);
    return user !== undefined;
  }

  #interrupted(): void {
    const content = [{ type: 'text', text: '[Request interrupted by user]' }];
    this.#tell({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null });
    this.#tell({
      ...{ type: 'result', subtype: 'error_during_execution', is_error: true, num_turns: 1 },
      ...{ stop_reason: null, terminal_reason: 'aborted_streaming', errors: ['[ede_diagnostic]'] },
    });
  }

  #hang(): Promise<never> {
    this.#isDeaf = true;
    setInterval(() => {}, 60_000);
    return new Promise(() => {});
  }

  #tell(line: object): void {
    const { type, is_error: isError } = line as { type?: unknown; is_error?: unknown };
    if (type === 'result') this.#wentWell = isError !== true;
    const session =
      type === 'control_response' || type === 'control_request' ? {} : { session_id: this.#session };
    write(`${JSON.stringify({ ...line, ...session })}\n`);
  }
}

/** At once, so that nothing is left when it exits. */
function write(text: string, chunk = Number.POSITIVE_INFINITY): void {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; ) from += writeSync(1, bytes.subarray(from, from + chunk));
}

function die(words: string): never {
  writeSync(2, `${words}\n`);
  process.exit(1);
}

const { values } = parseArgs({ options });
if (values.version) {
  write('2.1.332 (Claude Code)\n');
} else {
  if (!values.verbose) {
    die('Error: When using --print, --output-format=stream-json requires --verbose');
  }
  const session = values.resume ?? values['session-id'] ?? '';
  await new FakeClaude(session, JSON.parse(process.env.FAKE_CLAUDE ?? '{}')).listen();
}
