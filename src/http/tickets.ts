import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Principal } from '../agents/principal.ts';
import type { Tokens } from './tokens.ts';

/** How long a ticket opens the console. */
export const ticketLifeMs = 60_000;
/** How long a browser stays in. */
const sessionLifeMs = 30 * 24 * 3_600_000;
/** Tickets that wait for their use. */
const maxTickets = 1_000;
export const cookieName = 'spawngate';

/**
 * How a browser gets in without a token in an address: a one-use ticket, exchanged for a cookie. The cookie names
 * its principal under a signature with the gateway's token, so that it outlives a restart, but not a new token.
 */
export class Tickets {
  readonly #tokens: Tokens;
  readonly #now: () => number;
  readonly #open = new Map<string, { principal: Principal; until: number }>();

  constructor(tokens: Tokens, now: () => number = Date.now) {
    this.#tokens = tokens;
    this.#now = now;
  }

  issue(principal: Principal): { ticket: string; expiresAt: number } {
    this.#forgetOld();
    const ticket = randomBytes(24).toString('base64url');
    const until = this.#now() + ticketLifeMs;
    this.#open.set(ticket, { principal, until });
    return { ticket, expiresAt: until };
  }

  /** Whose ticket it is; it is used up by that. */
  redeem(ticket: string): Principal | undefined {
    const found = this.#open.get(ticket);
    this.#open.delete(ticket);
    return found && found.until > this.#now() ? found.principal : undefined;
  }

  /** The value of a Set-Cookie header. */
  cookieFor({ name }: Principal): string {
    const claim = Buffer.from(JSON.stringify({ name, until: this.#now() + sessionLifeMs })).toString(
      'base64url',
    );
    const age = sessionLifeMs / 1000;
    return `${cookieName}=${claim}.${this.#signature(claim)}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict`;
  }

  /** The principal of a Cookie header. */
  principalOf(cookies: string | undefined): Principal | undefined {
    const value = cookies
      ?.split(/;\s*/)
      .find((cookie) => cookie.startsWith(`${cookieName}=`))
      ?.slice(cookieName.length + 1);
    const [claim = '', signature = ''] = value?.split('.') ?? [];
    const right = Buffer.from(this.#signature(claim));
    const given = Buffer.from(signature);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    const { name, until } = JSON.parse(Buffer.from(claim, 'base64url').toString('utf8'));
    return until > this.#now() ? this.#tokens.principalNamed(name) : undefined;
  }

  #signature(claim: string): string {
    return createHmac('sha256', this.#tokens.token).update(`cookie ${claim}`).digest('base64url');
  }

  #forgetOld(): void {
    for (const [ticket, { until }] of this.#open) {
      if (until > this.#now() && this.#open.size < maxTickets) break;
      this.#open.delete(ticket);
    }
  }
}
