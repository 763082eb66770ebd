import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const folder = new URL('../../src/protocol/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));

it('runs in browsers: src/protocol imports zod, msgpackr and its own folder only, and names no global of Node', () => {
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const source = readFileSync(new URL(file, folder), 'utf8');
    const imported = [...source.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)['"]([^'"]+)['"]/g)].map(
      (match) => match[1],
    );
    for (const name of imported)
      expect(`${file} imports ${name}`).toMatch(/imports (zod|msgpackr|\.\/[\w-]+\.ts)$/);
    expect(source, file).not.toMatch(/\b(?:Buffer|process|require|setImmediate)[.(](?=\S)/);
  }
});
