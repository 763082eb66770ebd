import { z } from 'zod';
import type { AgentView, Gateway } from '../../client/index.ts';
import { clientFlags } from '../config.ts';
import type { AgentStateName } from '../protocol/agent.ts';
import { command } from './command.ts';
import { promptOf, stateOf } from './describe.ts';
import { print, printJson, short } from './output.ts';
import { reach } from './reach.ts';

const live: AgentStateName[] = ['queued', 'starting', 'running', 'idle', 'interrupted'];

export const ps = command({
  words: [],
  summary: 'list the agents that live',
  flags: {
    ...clientFlags,
    all: { help: 'those that have ended, too', schema: z.boolean().optional() },
  },
  async run(told) {
    const { all, json } = told.settings;
    using gateway = await reach(told);
    for await (const agent of agentsOf(gateway, all ? undefined : live)) {
      if (!all && agent.state === 'interrupted' && !agent.resuming) continue;
      if (json) printJson(agent);
      else print(rowOf(agent));
    }
    return 0;
  },
});

async function* agentsOf(gateway: Gateway, state: AgentStateName[] | undefined): AsyncGenerator<AgentView> {
  for (let before: number | undefined; ; ) {
    const page = await gateway.call('agent.list', { ...(state && { state }), ...(before && { before }) });
    yield* page.agents;
    before = page.next;
    if (before === undefined) return;
  }
}

function rowOf(agent: AgentView): string {
  const cost = `$${agent.subtree.costUsd.toFixed(2)}`;
  const what = short(agent.name ?? promptOf(agent.task), 60);
  return [agent.id, stateOf(agent), cost, what].join('  ');
}
