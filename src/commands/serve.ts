import { statSync } from 'node:fs';
import { type Config, loadConfig, serveHelp } from '../config.ts';
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
    demandRoots(config);
    const gateway = await startGateway(config).catch((error: unknown) => {
      const words = error instanceof DataDirectoryInUse ? error.message : adviceOn(error, config);
      throw words === undefined ? error : new ConfigError(words, { cause: error });
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

function demandRoots({ root }: Config): void {
  for (const path of root) {
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
      throw new ConfigError(`${path} is no folder; choose another with --root.`);
  }
}

/** What the operator can mend; undefined for a fault of ours. */
function adviceOn(error: unknown, { host, port }: Config): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is taken, perhaps by another gateway. Stop it, or choose another with --port.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine; choose another with --host.`;
    case 'EACCES':
    case 'EROFS':
    case 'ENOTDIR':
    case 'ENOENT':
    case 'EEXIST':
      if (syscall === 'listen') return `Port ${port} is not for this user; choose another with --port.`;
      return path && `${path} can't be written; choose another folder with --data / --cases.`;
    default:
      return undefined;
  }
}
