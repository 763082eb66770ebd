import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { protocolJsonSchema } from '../protocol/json-schema.ts';
import type { Doorkeeper } from './doorkeeper.ts';

export type Health = {
  /** Why new work can't be taken now; undefined if it can. */
  problem(): string | undefined;
};

/** The HTTP doors. Host and Origin are checked before anything else. */
export function httpApp(doorkeeper: Doorkeeper, health: Health): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(async (context, next) => {
    if (!doorkeeper.letsIn(context.env.incoming.headers))
      return context.text('Forbidden host or origin\n', 403);
    return next();
  });
  // Alive: the process answers.
  app.get('/healthz', (context) => context.text('ok\n'));
  app.get('/health', (context) => context.json({ status: health.problem() ? 'degraded' : 'ok' }));
  app.get('/readyz', (context) => {
    const problem = health.problem();
    return problem ? context.text(`${problem}\n`, 503) : context.text('ready\n');
  });
  app.get('/v1/schema', (context) => context.json(protocolJsonSchema()));
  return app;
}
