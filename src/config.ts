import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { z } from 'zod';

/** What the operator asked for can't be done; the message says which flag, variable or key, and why. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

interface Flag {
  /** What stands for the value in the help; a switch has none. */
  argument?: string;
  /** As it would be typed; goes through the schema like any other value. */
  default?: string;
  /** May be given more than once; a list with commas in the environment. */
  repeatable?: true;
  help: string;
  schema: z.ZodType;
}

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

/** The one list of what can be set: the flags, their variables, the file's keys and the help come from it. */
const flags = {
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
    help: 'the Claude Code CLI, when not `claude` on the PATH; a JSON array of strings passes arguments exactly',
    schema: command,
  },
  places: {
    argument: 'N',
    default: '5',
    help: 'agents that may work at the same time',
    schema: whole(1, 10_000),
  },
  maxDepth: {
    argument: 'N',
    default: '3',
    help: 'levels of a tree of agents; a root is the first',
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
} as const satisfies Record<string, Flag>;

type Flags = typeof flags;
type Setting = keyof Flags;
type Environment = Readonly<Record<string, string | undefined>>;

export type Config = { [Name in Setting]: z.output<Flags[Name]['schema']> } & {
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

const settings = Object.keys(flags) as Setting[];
const entries = Object.entries(flags) as [Setting, Flag][];
const schema = z.object(Object.fromEntries(entries.map(([name, flag]) => [name, flag.schema])));

/** Only the keys are judged here: the values meet the same schema as all others. The file lies in `data`. */
const fileSchema = z
  .strictObject(Object.fromEntries(settings.map((name) => [name, z.unknown()])))
  .omit({ data: true })
  .partial();

/** Reads this process's flags, environment and `<data>/config.json`: the only place that does. */
export function loadConfig(argv: readonly string[]): Config {
  const sources = { argv, env: process.env, cwd: process.cwd(), home: homedir() };
  const path = join(parseConfig(sources).data, 'config.json');
  return parseConfig({ ...sources, file: readIfThere(path) });
}

/** A flag wins over a variable, a variable over the file, the file over the default. Paths come out absolute. */
export function parseConfig(sources: ConfigSources): Config {
  const layers: Layer[] = [
    { values: readFlags(sources.argv), nameOf: flagName },
    { values: readVariables(sources.env), nameOf: variableName },
    { values: readSettings(sources.file), nameOf: (name) => `${name} in ${sources.file?.path}` },
    { values: defaults(), nameOf: (name) => `the default of ${name}` },
  ];
  const checked = schema.safeParse(Object.assign({}, ...layers.map((layer) => layer.values).reverse()));
  if (!checked.success) throw new ConfigError(describe(checked.error, layers));
  const config = checked.data as { [Name in Setting]: z.output<Flags[Name]['schema']> };

  const absolute = (path: string) =>
    resolve(
      sources.cwd,
      path.replace(/^~(?=$|[\\/])/, () => sources.home),
    );
  const data = absolute(config.data);
  return {
    ...config,
    data,
    cases: absolute(config.cases.replace(/^<data>/, () => data)),
    root: config.root.map(absolute),
    agentEnvironment: sources.env,
    fault: sources.env.SPAWNGATE_FAULT || undefined,
  };
}

export const serveHelp = [
  'spawngate serve: start the gateway',
  '',
  ...entries.map(([name, flag]) => {
    const usage = [flagName(name), flag.argument].filter(Boolean).join(' ');
    const notes = [flag.repeatable && 'repeatable', flag.default && `default ${flag.default}`].filter(
      Boolean,
    );
    return `  ${usage.padEnd(26)} ${flag.help}${notes.length ? ` (${notes.join('; ')})` : ''}`;
  }),
  '',
  `Each can also be set in the environment (${variableName('maxDepth')} for ${flagName('maxDepth')}; repeatable`,
  'ones as a list with commas) and in <data>/config.json ({"maxDepth": 3}; all but data).',
].join('\n');

type Values = Partial<Record<Setting, unknown>>;

interface Layer {
  values: Values;
  nameOf: (name: Setting) => string;
}

function readFlags(argv: readonly string[]): Values {
  const options: ParseArgsConfig['options'] = {};
  for (const [name, flag] of entries)
    options[flagName(name).slice(2)] = {
      type: flag.argument ? 'string' : 'boolean',
      multiple: flag.repeatable ?? false,
    };
  try {
    const { values } = parseArgs({ args: [...argv], options, allowNegative: true });
    return pick((name) => values[flagName(name).slice(2)]);
  } catch (cause) {
    const [problem = ''] = cause instanceof Error ? cause.message.split('. ') : [];
    throw new ConfigError(`${problem}. \`spawngate serve --help\` lists what there is.`, { cause });
  }
}

/** An empty variable counts as unset: that is how shells and unit files switch one off. */
function readVariables(env: Environment): Values {
  return pick((name) => {
    const value = env[variableName(name)]?.trim() || undefined;
    return 'repeatable' in flags[name] ? value?.split(/\s*,\s*/).filter(Boolean) : value;
  });
}

function readSettings(file: ConfigSources['file']): Values {
  if (!file) return {};
  try {
    return fileSchema.parse(JSON.parse(file.text));
  } catch (cause) {
    const problem = cause instanceof z.ZodError ? cause.issues[0]?.message : String(cause);
    throw new ConfigError(`${file.path} can't be used: ${problem}`, { cause });
  }
}

function defaults(): Values {
  return pick((name) => (flags[name] as Flag).default);
}

function pick(choose: (name: Setting) => unknown): Values {
  return Object.fromEntries(
    settings.map((name) => [name, choose(name)]).filter(([, value]) => value !== undefined),
  );
}

function describe(error: z.ZodError, layers: readonly Layer[]): string {
  const problems = error.issues.map(({ path, message }) => {
    const name = path[0] as Setting;
    return `${layers.find(({ values }) => name in values)?.nameOf(name) ?? name}: ${message}`;
  });
  return problems.join('\n');
}

function flagName(name: Setting): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function variableName(name: Setting): string {
  return `SPAWNGATE_${flagName(name).slice(2).replaceAll('-', '_').toUpperCase()}`;
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

function readIfThere(path: string): ConfigSources['file'] {
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new ConfigError(`${path} can't be read: ${error}`, { cause: error });
  }
}
