import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import {
  ConfigError,
  type Environment,
  type Flag,
  type FlagSources,
  type Flags,
  flagHelp,
  flagName,
  type Settings,
  settingsOf,
  variableName,
} from './flags.ts';

const text = z.string().trim().min(1, 'must not be empty');
const texts = z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(text));
const orNone = (value: unknown) => value ?? [];
const commaList = texts.transform((items) => items.flatMap((item) => item.split(/\s*,\s*/).filter(Boolean)));
const onOff = z
  .union([z.boolean(), z.stringbool()], 'must be true or false')
  .optional()
  .transform((value) => value ?? false);
const whole = (least: number, most: number) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value),
    z
      .int(`must be a whole number from ${least} to ${most}`)
      .min(least, `must be at least ${least}`)
      .max(most, `must be at most ${most}`),
  );
const origin = text
  .transform((value) => value.replace(/\/$/, '').toLowerCase())
  .refine(
    (value) => /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#*]+$/.test(value),
    'must be an origin like https://example.com',
  );
const command = z.preprocess(jsonArrayOrText, z.array(text).min(1).optional());

/** All that `serve` can be told. */
const serveFlags = {
  host: {
    argument: 'ADDRESS',
    default: '127.0.0.1',
    help: 'the address to listen on',
    schema: text,
  },
  port: {
    argument: 'PORT',
    default: '4600',
    help: 'the port to listen on; 0 takes any free one',
    schema: whole(0, 65_535),
  },
  data: {
    argument: 'DIR',
    default: '~/.spawngate',
    help: 'journal, spools and token; config.json is read from here',
    schema: text,
  },
  cases: {
    argument: 'DIR',
    default: '<data>/cases',
    help: "the agents' own folders",
    schema: text,
  },
  root: {
    argument: 'DIR',
    default: '.',
    repeatable: true,
    help: 'agents may work in and below this folder',
    schema: texts,
  },
  claude: {
    argument: 'COMMAND',
    help: 'the Claude Code CLI, if not `claude` on the PATH (else npx fetches it); a JSON array passes arguments exactly',
    schema: command,
  },
  places: {
    argument: 'N',
    default: '5',
    help: 'tasks that work at the same time; further ones wait in line',
    schema: whole(1, 10_000),
  },
  maxDepth: {
    argument: 'N',
    default: '3',
    help: 'levels of a tree of agents; a root is the first, and so far all are roots',
    schema: whole(1, 100),
  },
  allowBypass: {
    help: 'let tasks ask for the permission mode `bypass`',
    schema: onOff,
  },
  allowSkipPermissions: {
    help: "let tasks ask for `skipPermissions`, the CLI's own flag",
    schema: onOff,
  },
  allowOrigin: {
    argument: 'ORIGIN',
    repeatable: true,
    help: 'a web page of this origin may connect, too',
    schema: z.preprocess(orNone, texts.pipe(z.array(origin))),
  },
  passEnv: {
    argument: 'NAME',
    repeatable: true,
    help: 'pass this variable on to agents, too; a name may end in * and names may be joined by commas',
    schema: z.preprocess(orNone, commaList),
  },
  sync: {
    argument: 'full|normal',
    default: 'normal',
    help: 'full survives a power cut to the last event; normal survives any crash of a program',
    schema: z.enum(['full', 'normal'], 'must be full or normal'),
  },
  logLevel: {
    argument: 'LEVEL',
    default: 'info',
    help: 'silent, fatal, error, warn, info, debug or trace',
    schema: z.enum(
      ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'],
      'must be one of silent, fatal, error, warn, info, debug, trace',
    ),
  },
} as const satisfies Flags;

export type Config = Settings<typeof serveFlags> & {
  /** What the gateway was started with; a run gets a selection of it. */
  agentEnvironment: Environment;
  /** `SPAWNGATE_FAULT`: where our own crash tests want the gateway to die. */
  fault: string | undefined;
};

export interface ConfigSources {
  /** What follows `serve`. */
  argv: readonly string[];
  env: Environment;
  cwd: string;
  home: string;
  /** `<data>/config.json`, where there is one. */
  file?: { path: string; text: string } | undefined;
}

/** Only the keys are judged here: the values meet the same schema as all others. The file lies in `data`. */
const fileSchema = z
  .strictObject(Object.fromEntries(Object.keys(serveFlags).map((name) => [name, z.unknown()])))
  .omit({ data: true })
  .partial();

/** Reads this process's flags, environment and `<data>/config.json`: the only place that does. */
export function loadConfig(argv: readonly string[]): Config {
  const sources = hereAnd(argv);
  const { data } = parseConfig(sources);
  return parseConfig({ ...sources, file: configFile(data) });
}

export function parseConfig(sources: ConfigSources): Config {
  const { settings } = settingsOf(serveFlags, flagSources(sources));
  return {
    ...located(settings, sources),
    agentEnvironment: sources.env,
    fault: sources.env.SPAWNGATE_FAULT || undefined,
  };
}

export const serveHelp = [
  'spawngate serve: start the gateway',
  '',
  ...flagHelp(serveFlags),
  '',
  `Each can also be set in the environment (${variableName('maxDepth')} for ${flagName('maxDepth')}; repeatable`,
  'ones as a list with commas) and in <data>/config.json ({"maxDepth": 3}; all but data).',
].join('\n');

/** How a command finds the gateway. */
export const clientFlags = {
  url: {
    argument: 'URL',
    default: 'http://127.0.0.1:4600',
    help: 'where the gateway is',
    schema: z.url({ protocol: /^(https?|wss?)$/, error: 'must be an address like http://127.0.0.1:4600' }),
  },
  tokenFile: {
    argument: 'FILE',
    help: 'holds the token, when neither SPAWNGATE_TOKEN nor <data>/token does',
    schema: text.optional(),
  },
  data: { ...serveFlags.data, help: "the gateway's data folder, where its token lies" },
  json: { help: 'one JSON value a line, for programs', schema: onOff },
} as const satisfies Flags;

/** What `doctor` looks at is what a gateway would use that is started here. */
export const doctorFlags = {
  ...clientFlags,
  data: serveFlags.data,
  cases: serveFlags.cases,
  root: serveFlags.root,
  claude: serveFlags.claude,
  passEnv: serveFlags.passEnv,
} as const satisfies Flags;

/** Those of every command that talks to a gateway. */
export type ClientFlags = {
  [Name in keyof typeof clientFlags]: Flag & Pick<(typeof clientFlags)[Name], 'schema'>;
};
type ClientSettings = Settings<ClientFlags>;

/** What a command was told. */
export interface Told<F extends Flags> {
  settings: Settings<F>;
  /** What is no flag. */
  words: string[];
  environment: Environment;
  /** Throws a ConfigError where there is none. */
  token(): string;
}

export function loadCommand<F extends ClientFlags>(flags: F, argv: readonly string[]): Told<F> {
  const sources = hereAnd(argv);
  const read = (file?: ConfigSources['file']) => {
    const { settings, words } = settingsOf(flags, flagSources({ ...sources, file }), true);
    return { settings: located(settings as Settings<F> & ClientSettings, sources), words };
  };
  const bare = read();
  // Only `doctor` takes what may stand in the file.
  const told = 'root' in flags ? read(configFile(bare.settings.data)) : bare;
  return { ...told, environment: sources.env, token: () => tokenOf(told.settings, sources.env) };
}

function hereAnd(argv: readonly string[]): ConfigSources {
  return { argv, env: process.env, cwd: process.cwd(), home: homedir() };
}

/** With its paths absolute. */
function located<S extends { data: string; cases?: string; root?: string[] }>(
  settings: S,
  { cwd, home }: ConfigSources,
): S {
  const absolute = (path: string) =>
    resolve(
      cwd,
      path.replace(/^~(?=$|[\\/])/, () => home),
    );
  const data = absolute(settings.data);
  const { cases, root } = settings;
  return {
    ...settings,
    data,
    ...(cases !== undefined && { cases: absolute(cases.replace(/^<data>/, () => data)) }),
    ...(root !== undefined && { root: root.map(absolute) }),
  };
}

function tokenOf({ tokenFile, data }: ClientSettings, env: Environment): string {
  const given = env.SPAWNGATE_TOKEN?.trim();
  if (tokenFile === undefined && given) return given;
  const file = resolve(tokenFile ?? join(data, 'token'));
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    const ways = 'Name another file with --token-file, or set SPAWNGATE_TOKEN.';
    const why = tokenFile === undefined ? 'no gateway has used that folder yet' : `it can't be read`;
    throw new ConfigError(`There is no token in ${file}: ${why}. ${ways}`, {
      cause,
    });
  }
}

function flagSources({ argv, env, file }: ConfigSources): FlagSources {
  return { argv, env, file: file && { path: file.path, values: valuesIn(file) } };
}

function valuesIn(file: NonNullable<ConfigSources['file']>) {
  try {
    return fileSchema.parse(JSON.parse(file.text));
  } catch (cause) {
    const problem = cause instanceof z.ZodError ? cause.issues[0]?.message : String(cause);
    throw new ConfigError(`${file.path} can't be used: ${problem}`, { cause });
  }
}

function jsonArrayOrText(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (!value.trimStart().startsWith('[')) return [value];
  try {
    return JSON.parse(value);
  } catch {
    return value; // The schema then says that it isn't an array.
  }
}

function configFile(data: string): ConfigSources['file'] {
  const path = join(data, 'config.json');
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code)))
      return undefined;
    throw new ConfigError(`${path} can't be read: ${error}`, { cause: error });
  }
}
