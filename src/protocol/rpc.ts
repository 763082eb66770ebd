import { z } from 'zod';
import { wireErrorSchema } from './errors.ts';
import { tolerantObject } from './tolerant.ts';

const jsonrpc = z.literal('2.0');

export const callIdSchema = z.union([z.string().max(128), z.int()]);
export type CallId = z.infer<typeof callIdSchema>;

const methodSchema = z.string().min(1).max(128);
const paramsSchema = z.record(z.string(), z.unknown()).optional();

export const requestSchema = z.strictObject({
  jsonrpc,
  id: callIdSchema,
  method: methodSchema,
  params: paramsSchema,
});
export type Request = z.infer<typeof requestSchema>;

export const notificationSchema = z.strictObject({ jsonrpc, method: methodSchema, params: paramsSchema });
export type RpcNotification = z.infer<typeof notificationSchema>;

export const responseSchema = tolerantObject({ jsonrpc, id: callIdSchema, result: z.unknown() });
export type Response = z.infer<typeof responseSchema>;

/** `id` is null when the request's own could not be read. */
export const errorResponseSchema = tolerantObject({
  jsonrpc,
  id: callIdSchema.nullable(),
  error: wireErrorSchema,
});
export type ErrorResponse = z.infer<typeof errorResponseSchema>;

/** All that a client sends. Neither batches nor responses: the gateway asks nothing. */
export const clientMessageSchema = z.union([requestSchema, notificationSchema]);
export type ClientMessage = z.infer<typeof clientMessageSchema>;

/** All that the gateway sends. */
export const serverMessageSchema = z.union([responseSchema, errorResponseSchema, notificationSchema]);
export type ServerMessage = z.infer<typeof serverMessageSchema>;
