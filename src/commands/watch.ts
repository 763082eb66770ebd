import type { AgentView, Fact, TreeEvent } from '../../client/index.ts';
import { clientFlags } from '../config.ts';
import { command } from './command.ts';
import { asking, describe, stateOf } from './describe.ts';
import { print, printJson, short } from './output.ts';
import { reach } from './reach.ts';

export const watch = command({
  words: ['[tree|*]'],
  summary: 'show what the agents of a tree, or all of yours, do',
  flags: clientFlags,
  async run(told) {
    const { json } = told.settings;
    const [tree = '*'] = told.words;
    using gateway = await reach(told);
    const life = new AbortController();
    process.once('SIGINT', () => life.abort());
    const names = new Map<string, string>();
    try {
      for await (const event of gateway.subscribe(tree, { deltas: json, signal: life.signal })) {
        if (json) printJson(event);
        else show(event, names);
      }
    } catch (error) {
      if (!life.signal.aborted) throw error;
    }
    return 0;
  },
});

function show(event: TreeEvent, names: Map<string, string>): void {
  if (event.type === 'delta') return;
  if (event.type === 'snapshot') {
    if (event.reason) print(`The past can't be continued (${event.reason}); this is the present:`);
    for (const agent of event.snapshot.agents) showAgent(agent, names);
    for (const asked of event.snapshot.permissions)
      print(`${asked.agent} ${nameOf(asked.agent, names)}  ${asking(asked)}`);
    return;
  }
  if (event.type === 'agent.created') names.set(event.agent, event.data.name ?? event.agent);
  const words = describe(event);
  if (words !== undefined)
    print(`${timeOf(event)} ${nameOf(event.agent, names)}  ${words.replaceAll('\n', '\n  ')}`);
}

function showAgent(agent: AgentView, names: Map<string, string>): void {
  names.set(agent.id, agent.name ?? agent.id);
  print(`${agent.id} ${nameOf(agent.id, names)}  ${stateOf(agent)}`);
}

/** Names are anybody's words. */
function nameOf(agent: string, names: ReadonlyMap<string, string>): string {
  return short(names.get(agent) ?? agent, 40);
}

function timeOf({ at }: Fact): string {
  return new Date(at).toTimeString().slice(0, 8);
}
