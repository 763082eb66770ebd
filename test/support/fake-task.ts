import { fileURLToPath } from 'node:url';
import type { Params } from '../../src/protocol/methods.ts';
import { type Act, play, type Start } from './fake-acts.ts';
import type { Stage } from './stage.ts';
import { TestTask } from './task.ts';

/** How the gateway starts the fake CLI (`--claude`). */
export const fakeClaude = [process.execPath, fileURLToPath(new URL('fake-claude.ts', import.meta.url))];

type Options = Omit<Params<'task.start'>, 'prompt'> & { start?: Start; filler?: string };

/** A task for the fake CLI, with a client that follows it. */
export async function playTask(
  stage: Stage,
  acts: readonly Act[],
  { start, filler, ...params }: Options = {},
): Promise<TestTask> {
  const client = await stage.connect();
  const { agent } = await client.call('task.start', {
    cwd: stage.gateway.work,
    subscribe: true,
    ...(start && { env: { FAKE_CLAUDE: JSON.stringify(start) } }),
    ...params,
    prompt: play(acts, filler),
  });
  return new TestTask(client, agent);
}

/** The bytes of an agent's message facts, as the CLI wrote them. */
export async function linesOf({ client, agent }: TestTask): Promise<string[]> {
  const lines: string[] = [];
  for (const { seq } of client.of('message', agent)) {
    let json = '';
    for (let size = 1; json.length < size; ) {
      const slice = await client.call('event.get', { seq, from: json.length });
      json += slice.json;
      size = slice.size;
    }
    lines.push(json);
  }
  return lines;
}
