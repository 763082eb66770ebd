import { expect, it } from 'vitest';
import { factTypes } from '../../src/protocol/facts.ts';
import { protocolJsonSchema } from '../../src/protocol/json-schema.ts';
import { methods } from '../../src/protocol/methods.ts';

type Reference = { $ref: string };
type Document = {
  methods: Record<string, { params: Reference; result: Reference; scope: string | null }>;
  facts: Record<string, Reference>;
  $defs: Record<string, { properties?: object; additionalProperties?: unknown; required?: string[] }>;
};
const document = JSON.parse(JSON.stringify(protocolJsonSchema())) as Document;

function definition({ $ref }: Reference) {
  return document.$defs[$ref.replace('#/$defs/', '')];
}

it('resolves all its references within itself', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(
    (match) => match[1] ?? '',
  );
  expect(references.length).toBeGreaterThan(50);
  for (const $ref of references) expect(definition({ $ref }), $ref).toBeDefined();
  expect(JSON.stringify(document)).not.toContain('"$id"');
});

it('has the strict parameters and the tolerant result of every method', () => {
  expect(Object.keys(document.methods).sort()).toEqual(Object.keys(methods).sort());
  for (const [name, { params, result }] of Object.entries(document.methods)) {
    const shape = methods[name as keyof typeof methods].params.shape;
    expect(Object.keys(definition(params)?.properties ?? {}).sort()).toEqual(Object.keys(shape).sort());
    expect(definition(params)?.additionalProperties).toBe(false);
    expect(definition(result)?.additionalProperties).toEqual({});
  }
});

it('has every type of fact', () => {
  expect(Object.keys(document.facts).sort()).toEqual([...factTypes].sort());
  expect(definition(document.facts['agent.state'] as Reference)?.required).toEqual(['state']);
});
