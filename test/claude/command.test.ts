import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { claudeVersion, findClaude, type SpawnSpec, spawnArguments } from '../../src/claude/command.ts';
import { claudeCommands, claudeVersions, makeClaudeEnv } from '../support/claude-home.ts';

/** The real CLI takes seconds to start on a loaded machine. */
const slow = { timeout: 60_000 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spawngate-command-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function program(name: string, script = '', mode = 0o755): string {
  const file = join(folder, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, mode);
  return file;
}

describe('the CLI is found', () => {
  test('as configured, before any on the PATH', () => {
    program('claude');
    const env = { PATH: folder };
    const found = (configured: string[]) => findClaude({ configured, env, platform: 'linux' });
    expect(found(['my-claude'])).toEqual({ command: ['my-claude'], source: 'flag' });
    expect(found(['node', 'a b.js'])).toEqual({ command: ['node', 'a b.js'], source: 'flag' });
    expect(found(['node  /fake.js --x'])).toEqual({ command: ['node', '/fake.js', '--x'], source: 'flag' });
  });

  test('by a path with blanks, and by one that is relative to our folder', () => {
    const file = program('my claude');
    const here = relative(process.cwd(), file);
    for (const configured of [[file], [here]])
      expect(findClaude({ configured, env: {} }).command).toEqual([file]);
  });

  test('on the PATH: the first that may be executed', () => {
    program('a/claude', '', 0o644);
    mkdirSync(join(folder, 'b/claude'), { recursive: true });
    const file = program('c/claude');
    program('d/claude');
    const PATH = ['', 'none', 'a', 'b', 'c', 'd'].map((name) => name && join(folder, name)).join(':');
    expect(findClaude({ env: { PATH }, platform: 'linux' })).toEqual({ command: [file], source: 'path' });
  });

  test('on Windows by PATHEXT, under any spelling of Path', () => {
    program('a/claude', '', 0o644);
    const file = program('b/claude.cmd', '', 0o644);
    const Path = ['a', 'b'].map((name) => join(folder, name)).join(';');
    expect(findClaude({ env: { Path }, platform: 'win32' })).toEqual({ command: [file], source: 'path' });
    expect(findClaude({ env: { Path, PathExt: '.EXE' }, platform: 'win32' }).source).toBe('npx');
  });

  test('else through npx', () => {
    const npx = { command: ['npx', '-y', '@anthropic-ai/claude-code'], source: 'npx' };
    expect(findClaude({ env: { PATH: folder }, platform: 'linux' })).toEqual(npx);
    expect(findClaude({ configured: [' '], env: {}, platform: 'linux' })).toEqual(npx);
  });
});

describe('the version', () => {
  const env = { PATH: process.env.PATH ?? '' };

  test.each(claudeVersions)('of the real CLI %s', slow, async (version) => {
    await using home = await makeClaudeEnv({ modelUrl: 'http://127.0.0.1:9' });
    expect(await claudeVersion([...claudeCommands[version]], home.env)).toEqual({ version });
  });

  test('passes the first arguments on, and nothing of our environment', async () => {
    const file = program('claude', 'echo "1.2.3-$1-$2-$OURS-$HOME"');
    expect(await claudeVersion([file, 'x'], { OURS: 'y' })).toEqual({ version: '1.2.3-x---version-y-' });
  });

  test('is missing with a reason', async () => {
    expect(await claudeVersion([join(folder, 'none')], env)).toMatchObject({ problem: 'missing' });
    expect(await claudeVersion(['no-such-claude'], env)).toMatchObject({ problem: 'missing' });
    expect(await claudeVersion([program('plain', '', 0o644)], env)).toMatchObject({
      problem: 'not_executable',
    });
    expect(await claudeVersion([program('fails', 'echo broken >&2; exit 3')], env)).toEqual({
      problem: 'failed',
      detail: 'broken',
    });
    expect(await claudeVersion([program('mute', 'exit 3')], env)).toMatchObject({
      problem: 'failed',
      detail: expect.stringContaining('exit code 3'),
    });
    expect(await claudeVersion([program('other', 'echo hello')], env)).toMatchObject({
      problem: 'failed',
      detail: expect.stringContaining('printed no version'),
    });
  });
});

describe('the arguments', () => {
  const line = (spec: Partial<SpawnSpec>) => spawnArguments({ session: 'S', ...spec }).join(' ');

  test('open a session, or go on with it', () => {
    expect(line({})).toContain('--session-id S');
    expect(line({})).not.toContain('--resume');
    expect(line({ resume: true })).toContain('--resume S');
    expect(line({ resume: true })).not.toContain('--session-id');
  });

  test('say the permission mode always, in the CLI’s words', () => {
    for (const mode of [undefined, 'default', 'approve', 'bypass'] as const)
      expect(line({ permissionMode: mode })).toContain('--permission-mode default');
    for (const mode of ['plan', 'dontAsk', 'acceptEdits', 'auto'] as const)
      expect(line({ permissionMode: mode })).toContain(`--permission-mode ${mode}`);
  });

  test('skip permissions only when that is what was asked for', () => {
    const skip = '--dangerously-skip-permissions';
    for (const mode of ['skipPermissions', 'bypassPermissions'] as const)
      expect(line({ permissionMode: mode })).toContain(skip);
    expect(line({ skipPermissions: true, permissionMode: 'plan' })).toContain(skip);
    expect(line({ skipPermissions: false, permissionMode: 'bypass' })).not.toContain(skip);
  });

  test('leave out what the task leaves out', () => {
    expect(line({ allowedTools: [], disallowedTools: [], appendSystemPrompt: '' })).not.toMatch(
      /Tools|--model|--append/,
    );
  });
});

describe.each(claudeVersions)('the real CLI %s', slow, (version) => {
  test('starts with our arguments, and takes no text of a client for a flag or for another rule', async () => {
    await using model = await startSilentModel();
    await using home = await makeClaudeEnv({ modelUrl: model.url });
    const args = spawnArguments({
      session: randomUUID(),
      model: '--version',
      permissionMode: 'plan',
      allowedTools: ['Bash(git log:*)', '--help'],
      disallowedTools: ['Bash(rm', 'Edit', 'Bash(a, b)', 'Write'],
      appendSystemPrompt: '--settings\nA line that says "so", with a comma',
    });
    await using claude = start([...claudeCommands[version], ...args], home);
    claude.send({ type: 'control_request', request_id: 'r', request: { subtype: 'initialize' } });
    expect((await claude.line('control_response')).response).toMatchObject({
      subtype: 'success',
      request_id: 'r',
    });

    claude.send({ type: 'user', message: { role: 'user', content: 'hi' }, parent_tool_use_id: null });
    expect(await claude.line('system')).toMatchObject({ permissionMode: 'plan', model: '--version' });
    const request = await model.asked;
    expect(request.model).toBe('--version');
    expect(JSON.stringify(request.system)).toContain('--settings\\nA line that says \\"so\\", with a comma');
    const tools = request.tools.map(({ name }) => name);
    expect(tools).toContain('Read');
    expect(tools).not.toContain('Write');
    expect(tools).not.toContain('Edit');
  });

  test('would end with status 1 at a flag that it doesn’t know', async () => {
    await using home = await makeClaudeEnv({ modelUrl: 'http://127.0.0.1:9' });
    const args = [...spawnArguments({ session: randomUUID() }), '--no-such-flag'];
    await using claude = start([...claudeCommands[version], ...args], home);
    expect(await claude.exit).toBe(1);
  });
});

type ModelRequest = { model: string; system: unknown; tools: { name: string }[] };

/** Takes the agent's first request and never answers. */
async function startSilentModel() {
  const { promise: asked, resolve } = Promise.withResolvers<ModelRequest>();
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.end();
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    // Titles and warm-ups are asked for without tools.
    if (body.tools?.length > 0) resolve(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

function start(argv: string[], { env, home }: { env: Record<string, string>; home: string }) {
  const [file = '', ...args] = argv;
  const child = spawn(file, args, { env, cwd: home, stdio: ['pipe', 'pipe', 'ignore'] });
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    exit,
    send: (line: unknown) => child.stdin.write(`${JSON.stringify(line)}\n`),
    async line(type: string) {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`the CLI ended before a line of type ${type}`);
        const line = JSON.parse(value);
        if (line.type === type) return line;
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}
