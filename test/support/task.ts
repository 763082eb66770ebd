import type { Encoding } from '../../src/protocol/codec.ts';
import type { Fact } from '../../src/protocol/events.ts';
import type { Params, Result } from '../../src/protocol/methods.ts';
import type { TestClient } from './client.ts';
import { type Step, script } from './model-script.ts';
import type { Stage } from './stage.ts';

type Answer = Omit<Params<'permission.answer'>, 'permission'>;
type Options = Omit<Params<'task.start'>, 'prompt'> & { encoding?: Encoding };

/** Both versions of the CLI and both encodings, in as few runs as show them. */
export const versionsAndEncodings = [
  ['2.1.332', 'json'],
  ['2.1.197', 'msgpack'],
] as const;

/** For what both CLIs do alike, and the gateway does by itself. */
export const newest = '2.1.332';

/** A step that asks: a file is made in the working directory. */
export const touch = (file: string) => ({
  tool: 'Bash',
  input: { command: `touch ${file}`, description: 'A file' },
});

/** A step whose shell runs until it is ended; it isn't asked about. */
export const longShell = {
  tool: 'Bash',
  input: { command: 'tail -f /dev/null', description: 'Wait' },
};

/** Text that takes so long to stream that nobody waits for its end. */
export const longText = {
  say: 'A long text that nobody reads to its end. '.repeat(200),
  chunk: 4,
  delayMs: 5,
};

/** A task with a client that follows it. */
export class TestTask {
  readonly client: TestClient;
  readonly agent: string;
  /** Permissions that `asked` has given out. */
  #seen = 0;
  /** Turn ends that `turnEnd` has given out. */
  #ended = 0;

  constructor(client: TestClient, agent: string) {
    this.client = client;
    this.agent = agent;
  }

  /** Without steps it starts without a prompt. */
  static async start(stage: Stage, steps: Step[] | undefined, options: Options = {}): Promise<TestTask> {
    const { encoding, name, ...params } = options;
    const client = await stage.connect(encoding);
    const started = await client.call('task.start', {
      cwd: stage.gateway.work,
      subscribe: true,
      ...(name !== undefined && { name }),
      ...params,
      ...(steps && { prompt: script(steps, name === undefined ? {} : { name }) }),
    });
    return new TestTask(client, started.agent);
  }

  of<T extends Fact['type']>(type: T): Fact<T>[] {
    return this.client.of(type, this.agent);
  }

  /** The next permission that wasn't given out yet. */
  async asked(): Promise<Fact<'permission.requested'>> {
    const index = this.#seen++;
    return this.client.until(() => this.of('permission.requested')[index]);
  }

  async askedTimes(times: number): Promise<Fact<'permission.requested'>[]> {
    const asks: Fact<'permission.requested'>[] = [];
    for (let n = 0; n < times; n += 1) asks.push(await this.asked());
    return asks;
  }

  answer(asked: Fact<'permission.requested'>, answer: Answer): Promise<Result<'permission.answer'>> {
    return this.client.call('permission.answer', { permission: asked.data.permission, ...answer });
  }

  /** Allows the next one. */
  async allow(more: Partial<Answer> = {}): Promise<Fact<'permission.requested'>> {
    const asked = await this.asked();
    await this.answer(asked, { behavior: 'allow', ...more });
    return asked;
  }

  async resolved(asked: Fact<'permission.requested'>): Promise<Fact<'permission.resolved'>['data']> {
    const { permission } = asked.data;
    const fact = await this.client.fact('permission.resolved', ({ data }) => data.permission === permission);
    return fact.data;
  }

  send(content: string | Step[], more: { steer?: boolean } = {}): Promise<Result<'task.send'>> {
    const text = typeof content === 'string' ? content : script(content);
    return this.client.call('task.send', { agent: this.agent, content: text, ...more });
  }

  interrupt(turn?: number): Promise<Result<'task.interrupt'>> {
    return this.client.call('task.interrupt', { agent: this.agent, ...(turn !== undefined && { turn }) });
  }

  close(): Promise<Result<'task.close'>> {
    return this.client.call('task.close', { agent: this.agent });
  }

  get(): Promise<Result<'agent.get'>> {
    return this.client.call('agent.get', { agent: this.agent });
  }

  result(): Promise<Result<'agent.result'>> {
    return this.client.call('agent.result', { agent: this.agent });
  }

  /** States in order, without the runs that are `starting`. */
  states(): string[] {
    return this.of('agent.state').map(({ data }) => data.state);
  }

  /** The next end of a turn that wasn't given out yet: the CLI's result line. */
  async turnEnd(): Promise<Fact<'message'>> {
    const index = this.#ended++;
    return this.client.until(() => this.of('message').filter(({ data }) => data.type === 'result')[index]);
  }

  /** The n-th time that it is idle (from 1). */
  async idle(times = 1): Promise<Fact<'agent.state'>> {
    return this.client.until(
      () => this.of('agent.state').filter(({ data }) => data.state === 'idle')[times - 1],
    );
  }

  /** Waits for its end; any of the ends will do, so that a wrong one fails at once. */
  async end(): Promise<Fact<'agent.state'>> {
    return this.client.until(() =>
      this.of('agent.state').find(
        ({ data }) =>
          ['completed', 'failed', 'cancelled', 'timed_out'].includes(data.state) ||
          (data.state === 'interrupted' && !data.resuming),
      ),
    );
  }

  /** Text blocks of the complete messages, and the results of tools, in order. */
  texts(): string[] {
    return this.of('message').flatMap(({ data }) => (data.type === 'assistant' ? textsIn(data) : []));
  }

  toolResults(): { text: string; isError: boolean }[] {
    return this.of('message').flatMap(({ data }) => (data.type === 'user' ? resultsIn(data) : []));
  }
}

type Block = { type: string; text?: string; content?: unknown; is_error?: boolean };

function blocksOf(data: object): Block[] {
  const { message } = data as { message?: { content?: unknown } };
  return Array.isArray(message?.content) ? (message.content as Block[]) : [];
}

function textsIn(data: object): string[] {
  return blocksOf(data).flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []));
}

function resultsIn(data: object): { text: string; isError: boolean }[] {
  return blocksOf(data).flatMap(({ type, content, is_error = false }) => {
    if (type !== 'tool_result') return [];
    return [{ text: typeof content === 'string' ? content : JSON.stringify(content), isError: is_error }];
  });
}
