import { execa } from 'execa';
import { z } from 'zod';
import type { ClaudeCommand } from './command.ts';

/** What we read of `claude auth status` (seen on 2.1.197 and 2.1.332; its status is 1 when nobody is logged in). */
const statusSchema = z.object({ loggedIn: z.boolean(), authMethod: z.string() });

export interface ClaudeLogin {
  isIn: boolean;
  /** For people. */
  how: string;
}

const timeoutMs = 60_000;

/** Whether the CLI has credentials; whether they are good, only the model API can tell. */
export async function claudeLogin(
  [program, ...first]: ClaudeCommand['command'],
  env: Record<string, string>,
): Promise<ClaudeLogin> {
  const options = { env, extendEnv: false, reject: false, stdin: 'ignore', timeout: timeoutMs } as const;
  const { stdout } = await execa(program, [...first, 'auth', 'status'], options);
  try {
    const { loggedIn, authMethod } = statusSchema.parse(JSON.parse(stdout ?? ''));
    return { isIn: loggedIn, how: loggedIn ? authMethod : 'not logged in' };
  } catch {
    return { isIn: false, how: '`claude auth status` did not say' };
  }
}
