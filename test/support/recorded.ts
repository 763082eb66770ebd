import { readFileSync } from 'node:fs';
import type { ClaudeVersion } from './claude-home.ts';

/** The lines that a recorded run of the CLI wrote to stdout; long strings in them are cut. */
export function recorded(version: ClaudeVersion, name: string): Record<string, unknown>[] {
  const file = new URL(`../transcripts/${version}/${name}.ndjson`, import.meta.url);
  const records = readFileSync(file, 'utf8').trimEnd().split('\n');
  return records
    .map((record) => JSON.parse(record))
    .flatMap(({ dir, line }) => (dir === 'out' ? [line] : []));
}
