import { type ConnectionState, connect, type Gateway } from '../../client/index.ts';
import type { ClientFlags, Told } from '../config.ts';
import { tell } from './output.ts';

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
