import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../agents/principal.ts';
import { type Tokens, tokenFromAuthorization } from './tokens.ts';

export type DoorkeeperOptions = {
  tokens: Tokens;
  /** The address that is listened on. */
  host: string;
  port(): number;
  /** Origins of other pages that may connect. */
  allowOrigin: readonly string[];
};

/**
 * Who may come in by HTTP or by upgrade. Exact lists of hosts and origins: a web page must not reach the gateway,
 * nor a name that was made to point at this machine (DNS rebinding).
 */
export class Doorkeeper {
  readonly #options: DoorkeeperOptions;

  constructor(options: DoorkeeperOptions) {
    this.#options = options;
  }

  /** Programs send no Origin; browsers always do, and can't forge it. */
  letsIn({ host, origin }: Pick<IncomingHttpHeaders, 'host' | 'origin'>): boolean {
    if (!host || !this.#hosts.includes(host.toLowerCase())) return false;
    return origin === undefined || this.#origins.includes(origin.toLowerCase());
  }

  get #hosts(): string[] {
    const { host, allowOrigin } = this.#options;
    const port = this.#options.port();
    const names = ['localhost', '127.0.0.1', '[::1]', host.includes(':') ? `[${host}]` : host];
    // A page that is let in may reach us under its own name, behind a proxy.
    const behindProxy = allowOrigin.map((origin) => new URL(origin).host);
    return [...names.map((name) => `${name}:${port}`.toLowerCase()), ...behindProxy];
  }

  get #origins(): string[] {
    return [...this.#hosts.map((host) => `http://${host}`), ...this.#options.allowOrigin];
  }

  /** The principal of an Authorization header. */
  principalOf(authorization: string | undefined): Principal | undefined {
    const token = tokenFromAuthorization(authorization);
    return token === undefined ? undefined : this.principalOfToken(token);
  }

  principalOfToken(token: string): Principal | undefined {
    return this.#options.tokens.principalOf(token);
  }
}
