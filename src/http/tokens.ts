import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmodSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Principal } from '../agents/principal.ts';
import { scopeSchema, scopes } from '../protocol/methods.ts';

export interface Tokens {
  /** The gateway's own token, which has every scope. */
  token: string;
  file: string;
  /** What had to be put right at opening, for the log. */
  warnings: string[];
  principalOf(token: string): Principal | undefined;
  principalNamed(name: string): Principal | undefined;
}

const storedTokensSchema = z.array(
  z.object({
    name: z.string().min(1),
    owner: z.string().min(1),
    scopes: z.array(scopeSchema).min(1),
    sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits'),
  }),
);

/** Reads `<data>/token` (made at the first start) and, where there is one, `<data>/tokens.json`. */
export function openTokens(dataDir: string): Tokens {
  const file = join(dataDir, 'token');
  const warnings: string[] = [];
  const token = readToken(file, warnings) ?? makeToken(file);
  const local: Principal = { name: 'local', owner: 'local', scopes };
  const known = [
    { hash: sha256(token), principal: local },
    ...readStoredTokens(join(dataDir, 'tokens.json'), warnings),
  ];
  return {
    token,
    file,
    warnings,
    principalOf(presented) {
      const hash = sha256(presented);
      let found: Principal | undefined;
      // No early end: the time taken must not tell which token was met.
      for (const entry of known) if (timingSafeEqual(hash, entry.hash)) found ??= entry.principal;
      return found;
    },
    principalNamed: (name) => known.find(({ principal }) => principal.name === name)?.principal,
  };
}

/** The token in an `Authorization` header: a bearer's, or Basic's password under any user name. */
export function tokenFromAuthorization(header: string | undefined): string | undefined {
  const [, scheme, credentials] = /^(bearer|basic) +(\S+) *$/i.exec(header ?? '') ?? [];
  if (!scheme || !credentials) return undefined;
  if (scheme.toLowerCase() === 'bearer') return credentials;
  const pair = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return (colon >= 0 && pair.slice(colon + 1)) || undefined;
}

function readToken(file: string, warnings: string[]): string | undefined {
  const token = readPrivateFile(file, warnings)?.trim();
  if (token !== undefined && !/^\S{20,}$/.test(token))
    throw new Error(`${file} holds no usable token. Delete it: a new one is made at the next start.`);
  return token;
}

/** `link` is both atomic and exclusive: nobody sees half a token, and of two makers one wins. */
function makeToken(file: string): string {
  const token = randomBytes(32).toString('base64url');
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
  return token;
}

function readStoredTokens(file: string, warnings: string[]) {
  const text = readPrivateFile(file, warnings);
  if (text === undefined) return [];
  try {
    const stored = storedTokensSchema.parse(JSON.parse(text));
    return stored.map(({ sha256, ...principal }) => ({ hash: Buffer.from(sha256, 'hex'), principal }));
  } catch (cause) {
    const problem = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new Error(`${file} can't be used: ${problem}`, { cause });
  }
}

/** `undefined` where there is no such file. One that others may read or write is tightened, with a warning. */
function readPrivateFile(file: string, warnings: string[]): string | undefined {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return undefined;
  // Windows has no such bits: there the user's profile folder guards it.
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    chmodSync(file, 0o600);
    warnings.push(
      `${file} was open to other users; its mode is now 0600. Replace it if they may have read it.`,
    );
  }
  return readFileSync(file, 'utf8');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
