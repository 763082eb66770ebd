import { type ClientFlags, loadCommand, type Told } from '../config.ts';
import { ConfigError, flagHelp } from '../flags.ts';

interface Spec<F extends ClientFlags> {
  /** What stands behind its name, as the help shows it; a word in brackets may be left out, one in quotes is a text. */
  words: readonly string[];
  summary: string;
  flags: F;
  /** Gives the exit status. */
  run(told: Told<F>): Promise<number>;
}

/** One word of the command line. */
export interface Command {
  words: readonly string[];
  summary: string;
  /** The part of the help below the first line. */
  help: readonly string[];
  run(argv: readonly string[]): Promise<number>;
}

/** A command that talks to a gateway. */
export function command<F extends ClientFlags>({ words, summary, flags, run }: Spec<F>): Command {
  return {
    words,
    summary,
    help: flagHelp(flags),
    run: async (argv) => {
      const told = loadCommand(flags, argv);
      const needed = words.filter((word) => !word.startsWith('['));
      if (told.words.length < needed.length) {
        throw new ConfigError(`${needed[told.words.length]} is missing. \`--help\` shows how it is used.`);
      }
      const extra = told.words[words.length];
      if (extra !== undefined) {
        const text = words.find((word) => word.includes('"'))?.replaceAll(/[^a-z]/g, '');
        const hint = text === undefined ? '' : ` Put the ${text} in quotes.`;
        throw new ConfigError(`What is "${extra}"?${hint} \`--help\` shows how it is used.`);
      }
      return run(told);
    },
  };
}
