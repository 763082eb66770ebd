#!/usr/bin/env node
import { answer } from './commands/answer.ts';
import { cancel } from './commands/cancel.ts';
import { doctor } from './commands/doctor.ts';
import { failure } from './commands/failure.ts';
import { helpOf, overview } from './commands/help.ts';
import { print, tell } from './commands/output.ts';
import { ps } from './commands/ps.ts';
import { run } from './commands/run.ts';
import { send } from './commands/send.ts';
import { serve } from './commands/serve.ts';
import { watch } from './commands/watch.ts';
import { ConfigError } from './flags.ts';

const commands = { serve, run, watch, ps, answer, cancel, send, doctor };

async function main(argv: readonly string[]): Promise<number> {
  const isNamed = argv[0] !== undefined && !argv[0].startsWith('-');
  const [name = 'serve', ...rest] = isNamed ? argv : ['serve', ...argv];
  const flags = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  if (flags.includes('--version')) return say((await import('./gateway.ts')).version);
  if (name === 'help' || (!isNamed && flags.includes('--help'))) return say(overview(commands));
  if (!isCommand(name)) throw new ConfigError(`There is no command ${name}.\n\n${overview(commands)}`);
  return flags.includes('--help') ? say(helpOf(name, commands[name])) : commands[name].run(rest);
}

function isCommand(name: string): name is keyof typeof commands {
  return Object.hasOwn(commands, name);
}

function say(text: string): number {
  print(text);
  return 0;
}

// Whoever reads us may leave, as `head` does.
process.stdout.on('error', () => process.exit(0));
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  tell(failure(error, process.argv.includes('--json')));
  // A gateway whose start failed midway may have agents already, and their timers would keep it alive.
  process.exit(1);
}
