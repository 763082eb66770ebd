import { type ParseArgsConfig, parseArgs } from 'node:util';
import { z } from 'zod';

/** What the operator asked for can't be done; the message says which flag, variable or key, and why. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

export interface Flag {
  /** What stands for the value in the help; a switch has none. */
  argument?: string;
  /** As it would be typed; goes through the schema like any other value. */
  default?: string;
  /** May be given more than once; a list with commas in the environment. */
  repeatable?: true;
  help: string;
  schema: z.ZodType;
}

/** What a command takes: its flags, their variables, the file's keys and its help come from one such table. */
export type Flags = Readonly<Record<string, Flag>>;
export type Settings<F extends Flags> = { [Name in keyof F]: z.output<F[Name]['schema']> };
export type Environment = Readonly<Record<string, string | undefined>>;

export interface FlagSources {
  /** What follows the command's name. */
  argv: readonly string[];
  env: Environment;
  file?: { path: string; values: Values } | undefined;
}

type Values = Readonly<Record<string, unknown>>;

interface Layer {
  values: Values;
  nameOf: (name: string) => string;
}

/** A flag wins over a variable, a variable over the file, the file over the default. `words` are what is no flag. */
export function settingsOf<F extends Flags>(
  flags: F,
  { argv, env, file }: FlagSources,
  takesWords = false,
): { settings: Settings<F>; words: string[] } {
  const { values, words } = readFlags(flags, argv, takesWords);
  const layers: Layer[] = [
    { values, nameOf: flagName },
    { values: readVariables(flags, env), nameOf: variableName },
    { values: pick(flags, (name) => file?.values[name]), nameOf: (name) => `${name} in ${file?.path}` },
    { values: pick(flags, (_, flag) => flag.default), nameOf: (name) => `the default of ${name}` },
  ];
  const entries = Object.entries(flags).map(([name, flag]) => [name, flag.schema] as const);
  const checked = z
    .object(Object.fromEntries(entries))
    .safeParse(Object.assign({}, ...layers.map((layer) => layer.values).reverse()));
  if (!checked.success) throw new ConfigError(describe(checked.error, layers));
  return { settings: checked.data as Settings<F>, words };
}

/** A line for each flag. */
export function flagHelp(flags: Flags): string[] {
  return Object.entries(flags).map(([name, flag]) => {
    const usage = [flagName(name), flag.argument].filter(Boolean).join(' ');
    const notes = [flag.repeatable && 'repeatable', flag.default && `default ${flag.default}`].filter(
      Boolean,
    );
    return `  ${usage.padEnd(26)} ${flag.help}${notes.length ? ` (${notes.join('; ')})` : ''}`;
  });
}

export function flagName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function variableName(name: string): string {
  return `SPAWNGATE_${flagName(name).slice(2).replaceAll('-', '_').toUpperCase()}`;
}

function readFlags(flags: Flags, argv: readonly string[], takesWords: boolean) {
  const options: ParseArgsConfig['options'] = {};
  for (const [name, flag] of Object.entries(flags))
    options[flagName(name).slice(2)] = {
      type: flag.argument ? 'string' : 'boolean',
      multiple: flag.repeatable ?? false,
    };
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options,
      allowNegative: true,
      allowPositionals: takesWords,
    });
    return { values: pick(flags, (name) => values[flagName(name).slice(2)]), words: positionals };
  } catch (cause) {
    const [problem = ''] = cause instanceof Error ? cause.message.split('. ') : [];
    throw new ConfigError(`${problem}. \`--help\` lists what there is.`, { cause });
  }
}

/** An empty variable counts as unset: that is how shells and unit files switch one off. */
function readVariables(flags: Flags, env: Environment): Values {
  return pick(flags, (name, flag) => {
    const value = env[variableName(name)]?.trim() || undefined;
    return flag.repeatable ? value?.split(/\s*,\s*/).filter(Boolean) : value;
  });
}

function pick(flags: Flags, choose: (name: string, flag: Flag) => unknown): Values {
  return Object.fromEntries(
    Object.entries(flags)
      .map(([name, flag]) => [name, choose(name, flag)] as const)
      .filter(([, value]) => value !== undefined),
  );
}

function describe(error: z.ZodError, layers: readonly Layer[]): string {
  const problems = error.issues.map(({ path, message }) => {
    const name = String(path[0]);
    return `${layers.find(({ values }) => name in values)?.nameOf(name) ?? name}: ${message}`;
  });
  return problems.join('\n');
}
