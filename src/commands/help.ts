import type { Command } from './command.ts';

type Commands = Readonly<Record<string, Command>>;

function usage(name: string, { words }: Command): string {
  return ['spawngate', name, ...words].join(' ');
}

/** All commands, a line each. */
export function overview(commands: Commands): string {
  const lines = Object.entries(commands).map(
    ([name, command]) => `  ${usage(name, command).padEnd(52)} ${command.summary}`,
  );
  return [
    'spawngate: a realtime gateway for Claude Code agents',
    '',
    ...lines,
    '',
    'Without a command it serves. `spawngate COMMAND --help` lists the flags, `--version` tells the version.',
  ].join('\n');
}

export function helpOf(name: string, command: Command): string {
  return [`${usage(name, command)}: ${command.summary}`, '', ...command.help].join('\n');
}
