import { z } from 'zod';
import { idSchema, seqSchema, timeSchema } from './bounds.ts';
import { type FactData, type FactType, factData, factTypes } from './facts.ts';
import { tolerantObject } from './tolerant.ts';

/** `message` and `block` (0-based) name the block of live text that a `message` fact replaces. */
const envelopeShape = {
  seq: seqSchema,
  at: timeSchema,
  agent: idSchema,
  turn: z.int().positive().optional(),
  message: z.string().optional(),
  block: z.int().nonnegative().optional(),
};
const envelopeSchema = tolerantObject(envelopeShape);
type FactEnvelope = z.infer<typeof envelopeSchema>;

/** A fact with its data; `Fact<'agent.state'>` is one type of it, `Fact` the union of all. */
export type Fact<T extends FactType = FactType> = {
  [K in T]: FactEnvelope & { type: K; data: FactData<K> };
}[T];

/** A fact whose data is over `maxEventBytes`: `size` UTF-16 units of JSON, to be read with `event.get`. */
export type CutFact = FactEnvelope & { type: FactType; data: null; size: number };

function knownFactSchema(type: FactType) {
  return z.union([
    tolerantObject({ ...envelopeShape, type: z.literal(type), data: factData[type] }),
    tolerantObject({ ...envelopeShape, type: z.literal(type), data: z.null(), size: z.int().positive() }),
  ]);
}

/** A type that we don't know yet passes; one that we know must be right. */
const unknownFactSchema = tolerantObject({
  ...envelopeShape,
  type: z.string().refine((type) => type !== 'delta' && !Object.hasOwn(factData, type), 'has bad data'),
  data: z.unknown(),
});

export const factSchema = z.union([
  ...factTypes.map(knownFactSchema),
  unknownFactSchema,
]) as unknown as z.ZodType<Fact | CutFact>;

/** `at` counts the UTF-16 units of the block that come before `text`. `tool` stands in an `input` block's first delta. */
export const deltaSchema = tolerantObject({
  type: z.literal('delta'),
  agent: idSchema,
  message: z.string(),
  block: z.int().nonnegative(),
  parentToolUse: z.string().optional(),
  kind: z.enum(['text', 'thinking', 'input']),
  at: z.int().nonnegative(),
  text: z.string(),
  tool: tolerantObject({ id: z.string(), name: z.string() }).optional(),
});
export type Delta = z.infer<typeof deltaSchema>;

export const eventSchema = z.union([deltaSchema, factSchema]);
export type Event = Fact | CutFact | Delta;
