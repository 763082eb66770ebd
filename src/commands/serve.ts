import { loadConfig, serveHelp } from '../config.ts';
import { ConfigError } from '../flags.ts';
import type { Command } from './command.ts';
import { print, printJson } from './output.ts';

export const serve: Command = {
  words: [],
  summary: 'start the gateway',
  help: serveHelp.split('\n').slice(2),
  async run(argv) {
    const config = loadConfig(argv);
    // The other commands start in half the time without it.
    const { startGateway, version } = await import('../gateway.ts');
    const { DataDirectoryInUse } = await import('../journal/lock.ts');
    // A file at the system's size limit is like a full disk: the write fails, and the signal must not end us.
    process.on('SIGXFSZ', () => {});
    const gateway = await startGateway(config).catch((error: unknown) => {
      throw error instanceof DataDirectoryInUse ? new ConfigError(error.message, { cause: error }) : error;
    });
    const { url, port, tokenFile } = gateway;
    if (process.stdout.isTTY) print(`Spawngate ${version} listens on ${url}\nThe token is in ${tokenFile}`);
    else printJson({ url, port, pid: process.pid, dataDir: config.data, tokenFile });
    await new Promise<void>((resolve) => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
    });
    await gateway.stop();
    process.exit(0);
  },
};
