import { z } from 'zod';
import { agentViewSchema } from './agent.ts';
import { closeCodes } from './close-codes.ts';
import { errorCodes } from './errors.ts';
import { deltaSchema, eventSchema } from './events.ts';
import { factData } from './facts.ts';
import { methods } from './methods.ts';
import { notifications } from './notifications.ts';
import { permissionViewSchema } from './permission.ts';
import { clientMessageSchema, serverMessageSchema } from './rpc.ts';
import { cursorSchema, snapshotSchema, subscriptionSchema } from './subscription.ts';

type Registry = ReturnType<typeof namedSchemas>;

/** A schema that serves several names keeps the first one. */
function namedSchemas() {
  const registry = z.registry<{ id: string }>();
  const add = (id: string, schema: z.ZodType) => {
    if (!registry.has(schema)) registry.add(schema, { id });
  };
  add('clientMessage', clientMessageSchema);
  add('serverMessage', serverMessageSchema);
  add('agent', agentViewSchema);
  add('permission', permissionViewSchema);
  add('cursor', cursorSchema);
  add('snapshot', snapshotSchema);
  add('subscription', subscriptionSchema);
  add('event', eventSchema);
  add('delta', deltaSchema);
  for (const [name, method] of Object.entries(methods)) {
    add(`${name}.params`, method.params);
    add(`${name}.result`, method.result);
  }
  for (const [name, schema] of Object.entries(notifications)) add(`${name}.notification`, schema);
  for (const [type, schema] of Object.entries(factData)) add(`${type}.fact`, schema);
  return registry;
}

function reference(registry: Registry, schema: z.ZodType) {
  return { $ref: `#/$defs/${registry.get(schema)?.id}` };
}

function references(registry: Registry, schemas: Record<string, z.ZodType>) {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, reference(registry, schema)]),
  );
}

/** The tables: which schema stands where, and what no schema can say. */
function tables(registry: Registry) {
  const methodTable = Object.entries(methods).map(([name, { scope, mutates, params, result }]) => [
    name,
    { scope, mutates, params: reference(registry, params), result: reference(registry, result) },
  ]);
  return {
    methods: Object.fromEntries(methodTable),
    notifications: references(registry, notifications),
    facts: references(registry, factData),
    errors: errorCodes,
    closeCodes,
  };
}

/** One JSON Schema (2020-12) of the whole wire, with the tables of methods, facts, errors and close codes beside it. */
export function protocolJsonSchema(): Record<string, unknown> {
  const registry = namedSchemas();
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/$defs/${id}` });
  // zod names each one by `$id`, but an `$id` may not be a fragment; the key in `$defs` is name enough.
  const definitions = Object.entries(schemas).map(([id, { $id, $schema, ...schema }]) => [id, schema]);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Spawngate wire protocol, version 1',
    anyOf: [reference(registry, clientMessageSchema), reference(registry, serverMessageSchema)],
    ...tables(registry),
    $defs: Object.fromEntries(definitions),
  };
}
