import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { type ClaudeVersion, claudeCommands } from './claude-home.ts';

/** A line of the CLI's output, as parsed; tests look into it as deep as they need. */
// biome-ignore lint/suspicious/noExplicitAny: somebody else's protocol, in over fifty shapes
export type Line = any;

const flags = [
  ...['--print', '--verbose', '--input-format', 'stream-json', '--output-format', 'stream-json'],
  ...['--include-partial-messages', '--replay-user-messages', '--permission-prompt-tool', 'stdio'],
  ...['--strict-mcp-config', '--settings', '{"useAutoModeDuringPlan":false}'],
];

interface Place {
  env: Record<string, string>;
  cwd: string;
  /** Default: `--session-id` with a new one. */
  args?: string[];
}

/** A bare conversation with the real CLI over its pipes: every line is kept, and one waits for lines, never for time. */
export class ClaudeSession {
  readonly lines: Line[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #read = 0;
  #stderr = '';
  #ended = false;
  #wake = Promise.withResolvers<void>();

  constructor(version: ClaudeVersion, { env, cwd, args = ['--session-id', randomUUID()] }: Place) {
    const [command] = claudeCommands[version];
    this.#child = spawn(command, [...flags, ...args], { env, cwd, stdio: 'pipe' });
    this.#child.stderr.on('data', (data: Buffer) => {
      this.#stderr = (this.#stderr + data).slice(-4000);
    });
    // A write may meet a CLI that has just gone; `until` tells what it said.
    this.#child.stdin.on('error', () => {});
    createInterface({ input: this.#child.stdout })
      .on('line', (line) => this.#notice(() => this.lines.push(JSON.parse(line))))
      .on('close', () => this.#notice(() => (this.#ended = true)));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The first line not yet passed over that fits; the next call goes on after it. */
  async until(fits: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      while (this.#read < this.lines.length) {
        const line = this.lines[this.#read++];
        if (fits(line)) return line;
      }
      if (this.#ended) throw new Error(`the CLI ended first: ${this.#stderr}`);
      await this.#wake.promise;
    }
  }

  async initialize(): Promise<Line> {
    return this.request({ subtype: 'initialize' });
  }

  /** Sends a control request and waits for its reply. */
  async request(request: Record<string, unknown>): Promise<Line> {
    const request_id = randomUUID();
    this.#write({ type: 'control_request', request_id, request });
    return this.until((line) => line.type === 'control_response' && line.response.request_id === request_id);
  }

  send(text: string): void {
    this.#write({ type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null });
  }

  /** Waits for the next `can_use_tool`, and allows it as asked. */
  async allow(): Promise<Line> {
    const ask = await this.until((line) => line.request?.subtype === 'can_use_tool');
    const response = { behavior: 'allow', updatedInput: ask.request.input };
    this.#write({
      type: 'control_response',
      response: { subtype: 'success', request_id: ask.request_id, response },
    });
    return ask.request;
  }

  result(): Promise<Line> {
    return this.until((line) => line.type === 'result');
  }

  /** All live text since line `from`, in the order it came. */
  streamedText(from = 0): string {
    return this.lines
      .slice(from)
      .map(({ event }) => (event?.delta?.type === 'text_delta' ? event.delta.text : ''))
      .join('');
  }

  /** Kills it at once. A shell that it runs for a tool would live on: let such a turn end first. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'close');
  }

  #write(line: unknown): void {
    this.#child.stdin.write(`${JSON.stringify(line)}\n`);
  }

  #notice(happening: () => void): void {
    happening();
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
