import { join } from 'node:path';
import type { Params } from '../../src/protocol/methods.ts';
import { type Step, script } from '../support/model-script.ts';

/** A task whose doing shows whatever was lost or doubled. */
export type CrashTask = {
  /** Also the script's name at the model. */
  name: string;
  params: Params<'task.start'>;
  steps: Step[];
  /** How many permissions it asks for. */
  asks: number;
  /** Lines that its shells append here, one each. */
  effects: { file: string; lines: string[] };
};

type Kind = (name: string, file: string) => { steps: Step[]; words?: string; allowed?: true };

const emoji = 'Naïve 🙂 text, 漢字 and 👩‍👩‍👧‍👦 families. ';
const append = (word: string, file: string) => `echo ${word} >> '${file}'`;
/** The CLI 2.1.332 refuses `sleep`. */
const wait = (ms: number) => `'${process.execPath}' -e 'setTimeout(() => {}, ${ms})'`;
const shell = (command: string) => ({ tool: 'Bash', input: { command, description: 'A step' } });

const kinds: Record<string, Kind> = {
  short: (name, file) => ({
    steps: [
      { thinking: emoji, say: emoji, ...shell(append(`${name}-1`, file)) },
      { say: emoji, chunk: 3 },
    ],
  }),
  asks: (name, file) => ({
    steps: [
      { say: 'May I? ', ...shell(append(`${name}-1`, file)) },
      { thinking: 'Again 🤔', ...shell(append(`${name}-2`, file)) },
      shell(append(`${name}-3`, file)),
      { say: 'All allowed.' },
    ],
  }),
  talks: (name, file) => ({
    steps: [
      {
        thinking: `🤔 ${emoji.repeat(8)}`,
        say: emoji.repeat(50),
        chunk: 7,
        delayMs: 8,
        ...shell(append(`${name}-1`, file)),
      },
      { say: emoji.repeat(50), chunk: 7, delayMs: 8 },
    ],
    allowed: true,
  }),
  works: (name, file) => ({
    steps: [
      shell([1, 2, 3].map((n) => `${append(`${name}-${n}`, file)}; ${wait(500)}`).join('; ')),
      { say: 'Worked.' },
    ],
    allowed: true,
  }),
  thinks: (name, file) => ({
    steps: [
      {
        thinking: emoji.repeat(30),
        say: emoji.repeat(4),
        chunk: 5,
        delayMs: 4,
        ...shell(append(`${name}-1`, file)),
      },
      { thinking: emoji.repeat(20), say: emoji.repeat(50), chunk: 7, delayMs: 8 },
    ],
  }),
  reads: (name, file) => ({
    steps: [shell(append(`${name}-1`, file)), { say: emoji.repeat(20), chunk: 3 }],
    words: 'A long prompt 📜. '.repeat(150_000),
  }),
};

/** Tasks of all kinds in turn. */
export function crashTasks(count: number, round: string, folder: string): CrashTask[] {
  const names = Object.keys(kinds).filter((kind) => kind !== 'short');
  return Array.from({ length: count }, (_, n) => {
    const kind = names[n % names.length] as string;
    return crashTask(kind, `${kind}-${round}-${n + 1}`, folder);
  });
}

export function crashTask(kind: string, name: string, folder: string): CrashTask {
  const file = join(folder, `${name}.effects`);
  const made = kinds[kind]?.(name, file);
  if (!made) throw new Error(`there is no kind of task ${kind}`);
  const { steps, words, allowed } = made;
  const shells = steps.filter((step) => 'tool' in step).map((step) => String(step.input.command));
  return {
    name,
    params: {
      prompt: script(steps, { name, ...(words && { words }) }),
      name,
      cwd: folder,
      ...(allowed && { allowedTools: ['Bash'] }),
      key: `start-${name}`,
    },
    steps,
    asks: allowed ? 0 : shells.length,
    effects: { file, lines: shells.flatMap((command) => command.match(/(?<=echo )\S+/g) ?? []) },
  };
}
