import { accessSync, constants, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import type { PermissionMode } from '../protocol/permission.ts';

export interface ClaudeCommand {
  /** The program and its first arguments. */
  command: [string, ...string[]];
  source: 'flag' | 'path' | 'npx';
}

export interface ClaudeSearch {
  /** `--claude`: one element is a program, or a whole command line that is split at blanks. */
  configured?: readonly string[] | undefined;
  env: Readonly<Record<string, string | undefined>>;
  platform?: NodeJS.Platform;
}

/** Where the CLI is: what the operator said, else `claude` on the PATH, else npx fetches it. */
export function findClaude({ configured, env, platform = process.platform }: ClaudeSearch): ClaudeCommand {
  const [program, ...rest] = words(configured ?? []);
  // A run starts in its task's folder, so a relative path has to be settled here.
  if (program)
    return { command: [/[\\/]/.test(program) ? resolve(program) : program, ...rest], source: 'flag' };
  const found = onPath(env, platform);
  if (found) return { command: [found], source: 'path' };
  return { command: ['npx', '-y', '@anthropic-ai/claude-code'], source: 'npx' };
}

/** A path with blanks in it is still one program if it is there. */
function words(configured: readonly string[]): readonly string[] {
  const [only = ''] = configured;
  return configured.length > 1 || isFile(only) ? configured : only.split(/\s+/).filter(Boolean);
}

function onPath(env: ClaudeSearch['env'], platform: NodeJS.Platform): string | undefined {
  const windows = platform === 'win32';
  const extensions = windows ? (variable(env, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD').split(';') : [''];
  const path = windows ? variable(env, 'PATH') : env.PATH;
  for (const folder of (path ?? '').split(windows ? ';' : ':').filter(Boolean))
    for (const extension of extensions) {
      const file = resolve(join(folder, `claude${extension.toLowerCase()}`));
      if (isFile(file) && (windows || isExecutable(file))) return file;
    }
  return undefined;
}

/** Windows spells it `Path`, and a copied environment has lost its indifference to case. */
function variable(env: ClaudeSearch['env'], name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1];
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // That is the answer, not a failure.
  }
}

export type ClaudeVersion =
  | { version: string }
  | { problem: 'missing' | 'not_executable' | 'failed'; detail: string };

/** `npx` may have to fetch the CLI first. */
const versionTimeoutMs = 60_000;

/** Asks the CLI for its version: the cheapest proof that it can be started. */
export async function claudeVersion(
  command: ClaudeCommand['command'],
  env: Record<string, string>,
): Promise<ClaudeVersion> {
  const [program, ...first] = command;
  const result = await execa(program, [...first, '--version'], {
    env,
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    timeout: versionTimeoutMs,
  });
  const version = /^\d+\.\d+\.\d+\S*/.exec(result.stdout ?? '')?.[0];
  if (!result.failed && version) return { version };
  if (result.code === 'ENOENT') return { problem: 'missing', detail: `${program} was not found` };
  if (result.code === 'EACCES')
    return { problem: 'not_executable', detail: `${program} may not be executed` };
  if (result.failed)
    return { problem: 'failed', detail: result.stderr?.trim() || String(result.shortMessage) };
  return { problem: 'failed', detail: `${command.join(' ')} --version printed no version` };
}

export interface SpawnSpec {
  session: string;
  /** Go on with that session instead of opening it. */
  resume?: boolean;
  model?: string | undefined;
  permissionMode?: PermissionMode | undefined;
  skipPermissions?: boolean | undefined;
  allowedTools?: readonly string[] | undefined;
  disallowedTools?: readonly string[] | undefined;
  appendSystemPrompt?: string | undefined;
}

/**
 * The CLI's arguments for one run.
 *
 * A client's text goes in as `--flag=text`, one flag a tool: so it can be neither taken for a flag, nor can an
 * unclosed parenthesis in one rule swallow the next (the CLI splits one value at commas: seen on 2.1.197 and 2.1.332).
 */
export function spawnArguments(spec: SpawnSpec): string[] {
  return [
    ...['--print', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
    ...['--include-partial-messages', '--replay-user-messages', '--permission-prompt-tool', 'stdio'],
    // A project's .mcp.json would start programs unasked.
    '--strict-mcp-config',
    // Else plan mode hands the asking over to a classifier.
    ...['--settings', '{"useAutoModeDuringPlan":false}'],
    ...[spec.resume ? '--resume' : '--session-id', spec.session],
    ...permissions(spec),
    ...(spec.model ? [`--model=${spec.model}`] : []),
    ...(spec.allowedTools ?? []).map((tool) => `--allowedTools=${tool}`),
    ...(spec.disallowedTools ?? []).map((tool) => `--disallowedTools=${tool}`),
    ...(spec.appendSystemPrompt ? [`--append-system-prompt=${spec.appendSystemPrompt}`] : []),
  ];
}

/** Always said, since a settings file may name another default. */
function permissions({ permissionMode = 'approve', skipPermissions = false }: SpawnSpec): string[] {
  const mode = cliMode(skipPermissions ? 'skipPermissions' : permissionMode);
  return mode === 'bypassPermissions' ? ['--dangerously-skip-permissions'] : ['--permission-mode', mode];
}

/** Our words as the CLI's own. In `bypass` it asks as ever: it's the gateway that says yes, and records it. */
export function cliMode(mode: PermissionMode): string {
  if (mode === 'skipPermissions') return 'bypassPermissions';
  // 2.1.332 lists `manual` in its place, but takes `default` too; 2.1.197 knows `default` only (seen).
  return mode === 'approve' || mode === 'bypass' ? 'default' : mode;
}
