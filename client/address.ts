/** The address of the socket below a gateway's: `http://host:4600` and `ws://host:4600/v1/ws` mean the same. */
export function socketUrl(url: string): string {
  const address = new URL(url);
  address.protocol = address.protocol.replace('http', 'ws');
  address.pathname = address.pathname.replace(/\/?(v1\/ws\/?)?$/, '/v1/ws');
  return address.href;
}

/** A browser can't set a header on a socket, so the token travels as a subprotocol; never in the address. */
export function bearerSubprotocol(token: string): string {
  const binary = String.fromCharCode(...new TextEncoder().encode(token));
  const base64url = btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return `spawngate.bearer.${base64url}`;
}
