import { readdirSync } from 'node:fs';
import { claudeVersions } from '../support/claude-home.ts';
import { recorded } from '../support/recorded.ts';
import { type Heard, type Line, Replay } from './replay.ts';

export type Recording = { name: string; heard: Heard[] };

/** Every recorded run of the real CLI, heard by an agent. */
export function recordings(): Recording[] {
  return claudeVersions.flatMap((version) => {
    const files = readdirSync(new URL(`../transcripts/${version}`, import.meta.url));
    return files.map((file) => {
      const replay = new Replay();
      const lines = recorded(version, file.replace(/\.ndjson$/, '')) as Line[];
      return { name: `${version} ${file}`, heard: lines.map((line) => replay.hear(line)) };
    });
  });
}
