import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ClaudeVersion, claudeVersions, makeClaudeEnv } from './claude-home.ts';
import { ClaudeSession } from './claude-session.ts';
import { startModelApi } from './model-api.ts';
import { type Step, script } from './model-script.ts';

const emoji = 'Zoë 👩‍👩‍👧‍👦 says 🙂🙃, 日本語 and 🇩🇪. ';

/** The real CLI, ready, in an empty folder, against a model of its own. */
async function startCli(version: ClaudeVersion) {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelApi());
  const { env } = stack.use(await makeClaudeEnv({ modelUrl: model.url }));
  const cwd = await mkdtemp(join(tmpdir(), 'spawngate-cwd-'));
  stack.defer(() => rm(cwd, { recursive: true, force: true, maxRetries: 5 }));
  const claude = stack.use(new ClaudeSession(version, { env, cwd }));
  await claude.initialize();
  const owned = stack.move();
  return { model, cwd, claude, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

// Seconds, because on a loaded machine a CLI may take ten to start.
describe.each(claudeVersions)('the real CLI %s on the scripted model', { timeout: 40_000 }, (version) => {
  test('streams a text with thinking and emoji as it was sent', async () => {
    await using cli = await startCli(version);
    const say = emoji.repeat(5);
    cli.claude.send(script([{ say, thinking: '🤔 hm', chunk: 1 }], { name: 'text' }));
    expect(await cli.claude.result()).toMatchObject({ is_error: false, result: say });
    expect(cli.model.said('text')).toEqual([say]);
    expect(cli.claude.streamedText()).toBe(say);
    expect(cli.model.stepsAsked('text')).toEqual([0]);
  });

  test('goes on with the script in a later turn', async () => {
    await using cli = await startCli(version);
    cli.claude.send(script([{ say: 'first' }, { say: 'second' }], { name: 'turns' }));
    expect(await cli.claude.result()).toMatchObject({ result: 'first' });
    for (const expected of ['second', 'Done.']) {
      cli.claude.send('Go on.');
      expect(await cli.claude.result()).toMatchObject({ result: expected });
    }
    expect(cli.model.stepsAsked('turns')).toEqual([0, 1, 2]);
    cli.claude.send('<script>[{"say":"a second script"}]</script>');
    expect(await cli.claude.result()).toMatchObject({ result: 'a second script' });
  });

  test('runs a Bash tool once it is allowed', async () => {
    await using cli = await startCli(version);
    const input = { command: 'touch made-by-tool', description: 'Make a file' };
    const steps: Step[] = [
      { tool: 'Bash', input, say: 'I make a file. ', chunk: 3 },
      { say: `Made it. ${emoji}` },
    ];
    cli.claude.send(script(steps, { name: 'bash' }));
    expect(await cli.claude.allow()).toMatchObject({ tool_name: 'Bash', input });
    expect(await cli.claude.result()).toMatchObject({ is_error: false, result: `Made it. ${emoji}` });
    expect(await readdir(cli.cwd)).toEqual(['made-by-tool']);
    expect(cli.model.stepsAsked('bash')).toEqual([0, 1]);
    expect(cli.model.said('bash')).toEqual(['I make a file. ', `Made it. ${emoji}`]);
    expect(cli.claude.streamedText()).toBe(cli.model.said('bash').join(''));
  });

  test('runs parallel Reads and reports all results in one request', async () => {
    await using cli = await startCli(version);
    const names = ['alpha', 'beta', 'gamma'];
    await Promise.all(names.map((name) => writeFile(join(cli.cwd, name), `content of ${name}`)));
    const tools = names.map((name) => ({
      name: 'Read',
      input: { file_path: join(cli.cwd, name) },
      id: `toolu_${name}`,
    }));
    cli.claude.send(script([{ tools, thinking: 'Three files.' }, { say: 'Read all.' }], { name: 'reads' }));
    expect(await cli.claude.result()).toMatchObject({ result: 'Read all.' });
    const results = cli.claude.lines
      .flatMap(({ type, isReplay, message }) => (type === 'user' && !isReplay ? message.content : []))
      .map(({ tool_use_id, content }) => `${tool_use_id}: ${content}`);
    expect(results.sort()).toEqual(
      names.map((name) => expect.stringMatching(new RegExp(`^toolu_${name}: .*content of ${name}`))),
    );
    expect(cli.model.stepsAsked('reads')).toEqual([0, 1]);
  });

  test('reports an API error and lives on', async () => {
    await using cli = await startCli(version);
    // This message, because 2.1.332 repeats a request that got any other 400 five times, with less and less in it.
    const error = { status: 400, type: 'invalid_request_error', message: 'Your credit balance is too low.' };
    cli.claude.send(script([{ error }], { name: 'error' }));
    const result = await cli.claude.result();
    expect(result).toMatchObject({ subtype: 'success', is_error: true, api_error_status: 400 });
    expect(result.result).toContain('Credit balance is too low');
    expect(cli.model.stepsAsked('error')).toEqual([0]);
    expect(cli.model.said('error')).toEqual(['']);
    cli.claude.send(script([{ say: 'fine again' }]));
    expect(await cli.claude.result()).toMatchObject({ is_error: false, result: 'fine again' });
  });

  test('can be interrupted while the model is silent, and goes on after that step', async () => {
    await using cli = await startCli(version);
    cli.claude.send(script([{ hang: true }, { say: 'awake' }], { name: 'hang' }));
    await cli.model.asked('hang', 0);
    await cli.claude.request({ subtype: 'interrupt' });
    expect(await cli.claude.result()).toMatchObject({
      subtype: 'error_during_execution',
      terminal_reason: 'aborted_streaming',
    });
    cli.claude.send('Go on.');
    expect(await cli.claude.result()).toMatchObject({ result: 'awake' });
    expect(cli.model.stepsAsked('hang')).toEqual([0, 1]);
    expect(cli.model.said('hang')).toEqual(['', 'awake']);
  });
});

describe('the scripted model, asked over HTTP', () => {
  async function ask(url: string, content: string, rest: Record<string, unknown> = {}) {
    const messages = [{ role: 'user', content }];
    const body = JSON.stringify({ model: 'm', max_tokens: 9, tools: [{}], messages, ...rest });
    return fetch(`${url}/v1/messages?beta=true`, { method: 'POST', body });
  }

  async function events(response: Response) {
    const blocks = (await response.text()).split('\n\n').filter(Boolean);
    return blocks.map((block) => JSON.parse(block.slice(block.indexOf('{'))));
  }

  async function asMessage(response: Response) {
    return (await response.json()) as { id: string; content: { id: string }[] };
  }

  test.each([1, 2, 3, 50])('parts no surrogate pair with %i units a delta', async (chunk) => {
    await using model = await startModelApi();
    const stream = await events(await ask(model.url, script([{ say: emoji, chunk }]), { stream: true }));
    const deltas = stream.filter(({ type }) => type === 'content_block_delta').map(({ delta }) => delta.text);
    expect(deltas.join('')).toBe(emoji);
    expect(deltas.every((delta) => delta.isWellFormed() && delta.length <= chunk + 1)).toBe(true);
    expect(deltas.length).toBeGreaterThan(emoji.length / (chunk + 1) - 1);
  });

  test('takes a prompt of 3 MB', async () => {
    await using model = await startModelApi();
    const reply = await ask(
      model.url,
      script([{ say: 'read' }], { name: 'big', words: 'a <script '.repeat(300_000) }),
    );
    expect(await reply.json()).toMatchObject({
      content: [{ type: 'text', text: 'read' }],
      stop_reason: 'end_turn',
    });
    expect(model.said('big')).toEqual(['read']);
  });

  test('ends a cut stream after the text, with no message_stop', async () => {
    await using model = await startModelApi();
    const stream = await events(
      await ask(model.url, script([{ cut: true, say: 'half a' }]), { stream: true }),
    );
    expect(stream.at(-2)).toMatchObject({ delta: { text: 'half a' } });
    expect(stream.at(-1)).toMatchObject({ type: 'content_block_stop' });
  });

  test('gives the same step a new message id and new tool ids each time', async () => {
    await using model = await startModelApi();
    const prompt = script([{ tools: [1, 2].map(() => ({ name: 'Bash', input: {} })) }]);
    const replies = await Promise.all([1, 2].map(() => ask(model.url, prompt).then(asMessage)));
    const ids = replies.flatMap(({ id, content }) => [
      id,
      ...content.map((block: { id: string }) => block.id),
    ]);
    expect(new Set(ids).size).toBe(6);
  });

  test('says what is wrong with a script', async () => {
    await using model = await startModelApi();
    const reply = await ask(model.url, '<script>[{"shout":"x"}]</script>');
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({
      type: 'error',
      error: { message: expect.stringContaining('shout') },
    });
  });

  test('answers what else a client may call, and greets where there is no script', async () => {
    await using model = await startModelApi();
    expect((await fetch(model.url, { method: 'HEAD' })).status).toBe(200);
    const counted = await fetch(`${model.url}/v1/messages/count_tokens`, { method: 'POST', body: '{}' });
    expect(await counted.json()).toEqual({ input_tokens: expect.any(Number) });
    expect((await fetch(`${model.url}/api/event_logging/batch`, { method: 'POST', body: '{}' })).status).toBe(
      404,
    );
    const greeting = await ask(model.url, 'hello');
    expect(await greeting.json()).toMatchObject({ content: [{ text: 'Hello from the scripted model.' }] });
    expect(model.requests).toMatchObject([{ kind: 'plain', said: 'Hello from the scripted model.' }]);
  });

  test('can be closed while it keeps a client waiting', async () => {
    const model = await startModelApi();
    const waiting = ask(model.url, script([{ hang: true }], { name: 'hang' }));
    const refused = expect(waiting).rejects.toThrow();
    await model.asked('hang', 0);
    await model.close();
    await refused;
  });
});
