import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { z } from 'zod';
import { RequestError } from '../protocol/errors.ts';
import { protocolJsonSchema } from '../protocol/json-schema.ts';
import { socketPath } from '../protocol/subprotocols.ts';
import type { Doorkeeper } from './doorkeeper.ts';
import type { Tickets } from './tickets.ts';

export type Health = {
  /** Why new work can't be taken now; undefined if it can. */
  problem(): string | undefined;
};

export type Doors = { doorkeeper: Doorkeeper; tickets: Tickets; health: Health };

/** The HTTP doors. Host and Origin are checked before anything else. */
export function httpApp({ doorkeeper, tickets, health }: Doors): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(async (context, next) => {
    const objection = doorkeeper.objection(context.env.incoming.headers);
    return objection === undefined ? next() : context.text(`${objection}\n`, 403);
  });
  // Alive: the process answers.
  app.get('/healthz', (context) => context.text('ok\n'));
  app.get('/health', (context) => context.json({ status: health.problem() ? 'degraded' : 'ok' }));
  app.get('/readyz', (context) => {
    const problem = health.problem();
    return problem ? context.text(`${problem}\n`, 503) : context.text('ready\n');
  });
  app.get('/v1/schema', (context) => context.json(protocolJsonSchema()));
  // An upgrade never comes as far as this.
  app.get(socketPath, (context) =>
    context.text('This is a WebSocket: connect with an upgrade.\n', 426, { upgrade: 'websocket' }),
  );
  app.post('/v1/tickets', (context) => {
    const principal = doorkeeper.principalOf(context.env.incoming.headers);
    if (!principal) return context.json(unauthorized, 401);
    return context.json(tickets.issue(principal));
  });
  app.post('/v1/session', async (context) => {
    const body = ticketSchema.safeParse(await context.req.json().catch(() => undefined));
    const principal = body.success ? tickets.redeem(body.data.ticket) : undefined;
    if (!principal) return context.json(unauthorized, 401);
    context.header('set-cookie', tickets.cookieFor(principal));
    return context.json({ principal: principal.name, scopes: principal.scopes });
  });
  return app;
}

const ticketSchema = z.strictObject({ ticket: z.string().max(200) });
const unauthorized = new RequestError(
  'unauthorized',
  'The token or ticket is missing or no longer valid. Send "Authorization: Bearer TOKEN".',
).toWire();
