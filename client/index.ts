/** The client of a Spawngate gateway, for browsers and Node. */
import { Gateway } from './gateway.ts';

export type { AgentResult, AgentView } from '../src/protocol/agent.ts';
export type { Delta, Fact } from '../src/protocol/events.ts';
export type { MethodName, Params, Result } from '../src/protocol/methods.ts';
export type { Cursor, Snapshot } from '../src/protocol/subscription.ts';
export { type Clock, systemClock } from './clock.ts';
export type { ConnectionState } from './connection.ts';
export { type Encoding, json } from './encoding.ts';
export * from './errors.ts';
export type { Gateway } from './gateway.ts';
export type { CallOptions, ConnectOptions, SubscribeOptions, TaskParams } from './options.ts';
export type { Permission } from './permission.ts';
export type { SnapshotEvent, TreeEvent } from './reader.ts';
export type { Task } from './task.ts';
export { SpokenText } from './text.ts';

export const connect = Gateway.connect;
