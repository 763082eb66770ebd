import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));

/** How to start each version of the real CLI that we test with. */
export const claudeCommands = {
  '2.1.332': [join(modules, '.bin/claude')],
  '2.1.197': [join(modules, 'claude-code-2.1.197/bin/claude.exe')],
} as const;
export type ClaudeVersion = keyof typeof claudeCommands;
export const claudeVersions = Object.keys(claudeCommands) as ClaudeVersion[];

/**
 * A home and the whole environment for the real CLI, with nothing of this machine's but PATH. An empty home is enough:
 * with an API key and `--print`, neither version asks about onboarding, trust or the key. Disposing removes a home that
 * wasn't given; end the CLI first.
 */
export async function makeClaudeEnv({ modelUrl, home: given }: { modelUrl: string; home?: string }) {
  const home = given ?? (await mkdtemp(join(tmpdir(), 'spawngate-home-')));
  const scratch = join(home, 'tmp');
  await mkdir(scratch, { recursive: true });
  const env: Record<string, string> = {
    HOME: home,
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    LANG: 'C.UTF-8',
    TMPDIR: scratch,
    CLAUDE_CODE_TMPDIR: scratch,
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'sk-ant-scripted-model',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    // Lets root use bypassPermissions.
    IS_SANDBOX: '1',
  };
  const dispose = async () => {
    if (given === undefined) await rm(home, { recursive: true, force: true, maxRetries: 5 });
  };
  return { home, env, [Symbol.asyncDispose]: dispose };
}
