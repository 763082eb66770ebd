#!/usr/bin/env node
import { ConfigError, loadConfig, serveHelp } from './config.ts';
import { startGateway, version } from './gateway.ts';
import { DataDirectoryInUse } from './journal/lock.ts';

const usage = `spawngate: a realtime gateway for Claude Code agents

  spawngate [serve] [flags]   start the gateway (--help lists the flags)
  spawngate --version
`;

async function main(argv: string[]): Promise<void> {
  const [command = 'serve', ...rest] = argv[0]?.startsWith('-') ? ['serve', ...argv] : argv;
  if (rest.includes('--version')) return print(version);
  switch (command) {
    case 'serve':
      return rest.includes('--help') ? print(serveHelp) : serve(rest);
    case 'help':
      return print(usage);
    default:
      throw new ConfigError(`There is no command ${command}.\n\n${usage}`);
  }
}

async function serve(flags: string[]): Promise<void> {
  const config = loadConfig(flags);
  const gateway = await startGateway(config);
  const { url, port, tokenFile } = gateway;
  if (process.stdout.isTTY) print(`Spawngate ${version} listens on ${url}\nThe token is in ${tokenFile}`);
  else print(JSON.stringify({ url, port, pid: process.pid, dataDir: config.data, tokenFile }));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void gateway.stop().then(() => process.exit(0)));
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  // What the operator can mend is told in a line; anything else is a bug, with its stack.
  const mendable = error instanceof ConfigError || error instanceof DataDirectoryInUse;
  process.stderr.write(`${mendable ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}
