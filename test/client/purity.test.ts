import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('../../client/', import.meta.url));

test('client/ takes types only from src/protocol, and nothing else from outside', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const source = readFileSync(`${folder}${file}`, 'utf8');
    const imports = source.matchAll(/^(import|export)\s+(type\s)?[^'";]*?from\s+'([^']+)'/gm);
    for (const [, , type, from] of imports) {
      expect(`${file}: ${from}`).toMatch(
        type ? /: (\.\/|\.\.\/src\/protocol\/)[\w-]+\.ts$/ : /: \.\/[\w-]+\.ts$/,
      );
    }
    expect(source, file).not.toMatch(/\bimport\s*\(|\brequire\s*\(|\bimport\s+'/);
    expect(source, file).not.toMatch(/\b(?:Buffer|process|require|setImmediate|global)[.(](?=\S)/);
  }
});

test('the bundle needs no module at all, and at most 8 kB gzipped', async () => {
  const bundle = await rolldown({ input: `${folder}index.ts`, platform: 'browser', logLevel: 'silent' });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  await bundle.close();
  const [chunk] = output;
  expect(output).toHaveLength(1);
  expect([...chunk.imports, ...chunk.dynamicImports]).toEqual([]);
  for (const module of chunk.moduleIds) expect(module.startsWith(folder) && existsSync(module)).toBe(true);
  expect(gzipSync(chunk.code).length).toBeLessThanOrEqual(8_000);
});
