import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ConnectionState, connect, type Gateway } from '../../client/index.ts';
import { type ClientFlags, clientFlags, type Told } from '../config.ts';
import { flagName } from '../flags.ts';
import { tell } from './output.ts';
import { program } from './program.ts';

/** A connection to the gateway that the command was told of. Programs see no more of a reconnect than that it works. */
export function reach({ settings, token }: Pick<Told<ClientFlags>, 'settings' | 'token'>): Promise<Gateway> {
  let wasLost = false;
  const onState = (state: ConnectionState) => {
    if (state.is === 'waiting' && !wasLost) tell('The connection to the gateway was lost; coming back …');
    if (state.is === 'open' && wasLost) tell('Connected again; nothing was missed.');
    if (state.is === 'waiting' || state.is === 'open') wasLost = state.is === 'waiting';
  };
  return connect(settings.url, { token: token(), ...(!settings.json && { onState }) });
}

/** A command as people would type it, with what names the same gateway where that isn't the default. */
export function commandLine(
  words: string,
  { url, data, tokenFile }: Pick<Told<ClientFlags>['settings'], 'url' | 'data' | 'tokenFile'>,
): string {
  const flags = {
    ...(url !== clientFlags.url.default && { url }),
    ...(data !== join(homedir(), '.spawngate') && { data }),
    ...(tokenFile !== undefined && { tokenFile: resolve(tokenFile) }),
  };
  const given = Object.entries(flags).flatMap(([name, value]) => [flagName(name), quoted(value)]);
  return [program, words, ...given].join(' ');
}

/** For a shell. */
function quoted(word: string): string {
  return /^[\w./:~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
