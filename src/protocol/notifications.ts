import { z } from 'zod';
import { idSchema, seqSchema } from './bounds.ts';
import { eventSchema } from './events.ts';
import { wireLimitsSchema } from './limits.ts';
import { scopeSchema } from './methods.ts';
import { tolerantObject } from './tolerant.ts';

/** The first frame. `version` is the gateway's; `claude.version` is null when no Claude Code was found. */
export const welcomeSchema = tolerantObject({
  server: z.string(),
  version: z.string(),
  epoch: idSchema,
  head: seqSchema,
  principal: z.string(),
  scopes: z.array(scopeSchema),
  heartbeatMs: z.int().positive(),
  claude: tolerantObject({ version: z.string().nullable() }),
  limits: wireLimitsSchema,
});
export type Welcome = z.infer<typeof welcomeSchema>;

/** Consecutive events of one tree; the same bytes for every receiver. */
export const eventsSchema = tolerantObject({ tree: idSchema, events: z.array(eventSchema) });
export type Events = z.infer<typeof eventsSchema>;

/** You have everything of your subscriptions up to the number `through`. */
export const heartbeatSchema = tolerantObject({ through: seqSchema });
export type Heartbeat = z.infer<typeof heartbeatSchema>;

/** The last frame before a close of the gateway's own accord. */
export const goodbyeSchema = tolerantObject({ reason: z.string(), reconnect: z.boolean() });
export type Goodbye = z.infer<typeof goodbyeSchema>;

export const notifications = {
  welcome: welcomeSchema,
  events: eventsSchema,
  heartbeat: heartbeatSchema,
  goodbye: goodbyeSchema,
} as const;
export type NotificationName = keyof typeof notifications;
export type Notification<N extends NotificationName = NotificationName> = z.infer<(typeof notifications)[N]>;
