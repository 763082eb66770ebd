import type { Encoding } from './codec.ts';

/** Where the gateway takes upgrades. */
export const socketPath = '/v1/ws';

export const subprotocols = {
  json: 'spawngate.v1.json',
  msgpack: 'spawngate.v1.msgpack',
} as const satisfies Record<Encoding, string>;

const bearerPrefix = 'spawngate.bearer.';
const ticketPrefix = 'spawngate.ticket.';

/**
 * What a Sec-WebSocket-Protocol list asks for. `name` is what the upgrade answers. `none`: no list, which means JSON.
 * `unsupported`: a list without an encoding that we speak. A bearer that can't be decoded is the empty token, which
 * is never valid.
 */
export type Offer =
  | { kind: 'chosen'; encoding: Encoding; name: string; token?: string; ticket?: string }
  | { kind: 'none' }
  | { kind: 'unsupported' };

/** Takes the header's text or the names in it. Of two encodings the first offered counts. */
export function parseOffer(offered: string | Iterable<string> | undefined): Offer {
  const names = (typeof offered === 'string' ? offered.split(',') : [...(offered ?? [])])
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) return { kind: 'none' };
  const name = names.find((candidate) => encodingOf(candidate));
  const encoding = name && encodingOf(name);
  if (!encoding) return { kind: 'unsupported' };
  const bearer = names.find((candidate) => candidate.startsWith(bearerPrefix))?.slice(bearerPrefix.length);
  const ticket = names.find((candidate) => candidate.startsWith(ticketPrefix))?.slice(ticketPrefix.length);
  return {
    kind: 'chosen',
    encoding,
    name,
    ...(bearer === undefined ? {} : { token: fromBase64url(bearer) }),
    ...(ticket === undefined ? {} : { ticket }),
  };
}

export function bearerSubprotocol(token: string): string {
  const binary = String.fromCharCode(...new TextEncoder().encode(token));
  return bearerPrefix + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export function ticketSubprotocol(ticket: string): string {
  return ticketPrefix + ticket;
}

function encodingOf(name: string): Encoding | undefined {
  return (Object.keys(subprotocols) as Encoding[]).find((encoding) => subprotocols[encoding] === name);
}

function fromBase64url(text: string): string {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)));
  } catch {
    // Not base64url of UTF-8: whoever sent it gets the same answer as for a wrong token.
    return '';
  }
}
