import { parseArgs } from 'node:util';
import { type ClaudeVersion, claudeCommands } from '../support/claude-home.ts';
import { endure, kill } from './chaos.ts';
import { Ordeal } from './ordeal.ts';
import { Random } from './random.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    tasks: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    claude: { type: 'string', default: '2.1.332' },
  },
});
if (!(values.claude in claudeCommands))
  throw new Error(`--claude: one of ${Object.keys(claudeCommands).join(', ')}`);

console.log(`seed ${values.seed}, Claude Code ${values.claude}`);
const began = performance.now();
await using ordeal = await Ordeal.open(values.claude as ClaudeVersion);
await endure(ordeal, new Random(Number(values.seed)), {
  harm: kill,
  times: Number(values.kills),
  tasks: Number(values.tasks),
  tell({ harms, ...counts }) {
    const figures = Object.entries({ kills: harms, ...counts }).map(([name, count]) => `${count} ${name}`);
    console.log(`${Math.round((performance.now() - began) / 1000)} s: ${figures.join(', ')}`);
  },
});
