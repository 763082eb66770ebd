import { z } from 'zod';
import { tolerantObject } from './tolerant.ts';

/** What `welcome` tells a client to keep to. A gateway may hold further ones; absent means no limit of that kind. */
export const wireLimitsSchema = tolerantObject({
  maxFrameBytes: z.int().positive(),
  maxEventBytes: z.int().positive(),
  maxOpenCalls: z.int().positive(),
  maxSubscriptions: z.int().positive(),
  maxConnections: z.int().positive().optional(),
  maxCallsPerSecond: z.int().positive().optional(),
  maxQueuedTasks: z.int().positive().optional(),
});
export type WireLimits = z.infer<typeof wireLimitsSchema>;

export const limits = {
  maxFrameBytes: 16 * 1024 * 1024,
  maxEventBytes: 256 * 1024,
  maxOpenCalls: 64,
  maxSubscriptions: 256,
  maxConnections: 1_000,
  maxCallsPerSecond: 500,
} satisfies WireLimits;

export const defaultHeartbeatMs = 25_000;
/** How long a WebSocket ping may go unanswered. Any progress counts as an answer. */
export const pongTimeoutMs = 10_000;
/** A socket that takes nothing for so long, though something waits for it, is given up. */
export const noProgressMs = 30_000;
/** Over `maxOpenCalls` a call is answered `overloaded`; over this the connection is closed. */
export const closeOverOpenCalls = 256;
/** Frames that aren't JSON-RPC messages are answered up to here; then the connection is closed. */
export const maxMalformedFrames = 16;
/** A prompt longer than this (UTF-16 units) is `null` in an agent's view. */
export const shownPromptUnits = 16 * 1024;
/** How long an outcome is kept under its `key`. */
export const keyLifeMs = 24 * 3_600_000;
