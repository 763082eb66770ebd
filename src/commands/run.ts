import { resolve } from 'node:path';
import { z } from 'zod';
import type { Task, TreeEvent } from '../../client/index.ts';
import { clientFlags } from '../config.ts';
import { permissionModeSchema } from '../protocol/permission.ts';
import { command } from './command.ts';
import { Conversation, type Talk } from './conversation.ts';
import { Interruption } from './interruption.ts';
import { printJson, tell } from './output.ts';
import { commandLine, reach } from './reach.ts';

const text = z.string().trim().min(1, 'must not be empty').optional();

export const run = command({
  words: ['"prompt"'],
  summary: 'start a task, show what it does, and ask for permissions here',
  flags: {
    ...clientFlags,
    cwd: {
      argument: 'DIR',
      default: '.',
      help: 'where the agent works; under a root of the gateway',
      schema: z.string(),
    },
    name: { argument: 'NAME', help: 'what the agent is called', schema: text },
    model: { argument: 'MODEL', help: "Claude's model", schema: text },
    permissionMode: {
      argument: 'MODE',
      help: 'plan, dontAsk, default, acceptEdits, auto, bypass or skipPermissions',
      schema: permissionModeSchema.optional(),
    },
  },
  async run(told) {
    const { cwd, json, name, model, permissionMode } = told.settings;
    const [prompt = ''] = told.words;
    using gateway = await reach(told);
    const task = await gateway.start({
      prompt,
      cwd: resolve(cwd),
      ...(name !== undefined && { name }),
      ...(model !== undefined && { model }),
      ...(permissionMode !== undefined && { permissionMode }),
    });
    using interruption = new Interruption(task, tell);
    // Awaited, since what is `using` ends with this function.
    if (!json) {
      const line = (words: string) => commandLine(words, told.settings);
      return await converse({ gateway, task, interruption, commandLine: line });
    }
    return await follow(task, (event) => {
      interruption.saw(event);
      printJson(event);
    });
  },
});

async function converse(talk: Talk): Promise<number> {
  using conversation = new Conversation(talk);
  return await follow(talk.task, (event) => conversation.take(event));
}

async function follow(task: Task, each: (event: TreeEvent) => void): Promise<number> {
  let end = '';
  for await (const event of task) {
    each(event);
    if (event.type === 'agent.state' && event.agent === task.id) end = event.data.state;
  }
  // After a reset the end stands in a snapshot.
  return statusOf(end || (await task.result()).state);
}

function statusOf(state: string): number {
  if (state === 'completed') return 0;
  return state === 'cancelled' ? 130 : 1;
}
