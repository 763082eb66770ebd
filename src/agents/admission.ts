import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { RequestError } from '../protocol/errors.ts';
import type { Params } from '../protocol/methods.ts';
import { demandMode, type ModeRules } from './modes.ts';
import { instructions } from './task.ts';

/** What the operator allows. Paths are absolute. */
export type Rules = ModeRules & {
  roots: readonly string[];
  /** Where agents have their own folders. */
  cases: string;
};

/** The one door for a new agent: gives its working directory, or refuses with the rule. */
export function admit(params: Params<'task.start'>, id: string, rules: Rules): string {
  const { skipPermissions, permissionMode = 'default' } = params;
  demandMode(skipPermissions ? 'skipPermissions' : permissionMode, rules);
  demandServed(params);
  demandSize(params);
  if (params.cwd === undefined) return ownFolder(id, rules);
  const cwd = resolved(params.cwd);
  if (!cwd || !statSync(cwd).isDirectory()) {
    throw refused('cwd_missing', `There is no directory ${params.cwd}. Create it, or name another.`);
  }
  if (!rules.roots.some((root) => isWithin(cwd, resolved(root) ?? root))) {
    throw refused('root', `${params.cwd} is under no allowed root. Start the gateway with --root for it.`);
  }
  return cwd;
}

/** What can't be honoured is refused, not ignored. */
function demandServed({
  parent,
  dependsOn,
  contextFiles,
  spawnTags,
  priority,
  limits = {},
}: Params<'task.start'>): void {
  const { timeoutMinutes, maxTokens, maxCostUsd, maxTurns } = limits;
  const asked = {
    ...{ parent, dependsOn, contextFiles, spawnTags: spawnTags || undefined },
    priority: priority === 'normal' ? undefined : priority,
    ...{ timeoutMinutes, maxTokens, maxCostUsd, maxTurns },
  };
  const [name] = Object.entries(asked).find(([, value]) => value !== undefined) ?? [];
  if (name) throw refused('not_served', `This gateway does not serve ${name}. Leave it out.`);
}

/** Linux takes 128 KiB in one argument, and 2 MiB of arguments and environment, of which half is left to others. */
const maxArgumentBytes = 120 * 1024;
const maxArgumentsBytes = 1024 * 1024;

function demandSize(params: Params<'task.start'>): void {
  const { env, allowedTools, disallowedTools } = params;
  const said = instructions(params) ?? '';
  demandFit('appendSystemPrompt, successCriteria and outputFormat', said, maxArgumentBytes);
  const all = JSON.stringify([env, allowedTools, disallowedTools, said]);
  demandFit('env, the tools and the system prompt', all, maxArgumentsBytes);
}

function demandFit(what: string, text: string, limit: number): void {
  const size = Buffer.byteLength(text);
  if (size <= limit) return;
  const words = `${what} take ${size} bytes together; a process takes ${limit}. Send less.`;
  throw new RequestError('too_large', words, { size, limit });
}

function ownFolder(id: string, { cases }: Rules): string {
  const folder = join(cases, `spawn-${id}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return realpathSync(folder);
}

/** With all links followed, as the CLI finds its sessions by that path; undefined if there is nothing. */
function resolved(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function refused(rule: string, message: string): RequestError {
  return new RequestError('refused', message, { rule });
}
