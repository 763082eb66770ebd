import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../agents/principal.ts';
import type { Tickets } from './tickets.ts';
import { type Tokens, tokenFromAuthorization } from './tokens.ts';

export type DoorkeeperOptions = {
  tokens: Tokens;
  tickets: Tickets;
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

  /** Why it stays out. Programs send no Origin; browsers always do, and can't forge it. */
  objection({ host, origin }: Pick<IncomingHttpHeaders, 'host' | 'origin'>): string | undefined {
    if (!host || !this.#hosts.includes(host.toLowerCase()))
      return 'This Host is not served here: use the address that the gateway listens on.';
    if (origin === undefined || this.#origins.includes(origin.toLowerCase())) return undefined;
    return 'This Origin is not allowed: start the gateway with --allow-origin for it.';
  }

  get #ownHosts(): string[] {
    const { host } = this.#options;
    const names = ['localhost', '127.0.0.1', '[::1]', host.includes(':') ? `[${host}]` : host];
    return names.map((name) => `${name}:${this.#options.port()}`.toLowerCase());
  }

  /** A page that is let in may reach us under its own name, behind a proxy. */
  get #hosts(): string[] {
    return [...this.#ownHosts, ...this.#options.allowOrigin.map((origin) => new URL(origin).host)];
  }

  get #ownOrigins(): string[] {
    return this.#ownHosts.map((host) => `http://${host}`);
  }

  get #origins(): string[] {
    return [...this.#ownOrigins, ...this.#options.allowOrigin];
  }

  /** The principal of an Authorization header, or of the console's cookie, which counts on our own pages only. */
  principalOf({ authorization, cookie, origin }: IncomingHttpHeaders): Principal | undefined {
    if (authorization !== undefined) {
      const token = tokenFromAuthorization(authorization);
      return token === undefined ? undefined : this.#options.tokens.principalOf(token);
    }
    const own = origin === undefined || this.#ownOrigins.includes(origin.toLowerCase());
    return own ? this.#options.tickets.principalOf(cookie) : undefined;
  }

  /** The principal of what a subprotocol brought. */
  principalOfOffer({ token, ticket }: { token?: string; ticket?: string }): Principal | undefined {
    if (token !== undefined) return this.#options.tokens.principalOf(token);
    return ticket === undefined ? undefined : this.#options.tickets.redeem(ticket);
  }
}
