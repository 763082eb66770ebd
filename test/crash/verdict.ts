import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isTerminal } from '../../src/agents/state.ts';
import type { Fact } from '../../src/protocol/events.ts';
import { textOf } from '../support/stage.ts';
import { JournalLook } from './journal-look.ts';
import type { Ordeal, StartedTask } from './ordeal.ts';

/** What is wrong after all is over, in words; the gateway is to be dead. */
export function problemsAfter(ordeal: Ordeal, tasks: readonly StartedTask[]): string[] {
  using journal = new JournalLook(ordeal.stage.gateway.dataDir);
  const left = readdirSync(join(ordeal.stage.gateway.dataDir, 'spools'));
  const known = new Set(ordeal.trees.followed);
  return [
    ...ordeal.problems,
    ...left.map((name) => `the spool ${name} was left`),
    ...processesLeft(ordeal).map((process) => `${process} was left`),
    ...journal.agents().flatMap(({ id }) => (known.has(id) ? [] : [`agent ${id} was started by nobody`])),
    ...sameFacts('all trees', ordeal.everything.facts, journal.facts()),
    ...tasks.flatMap((task) => [
      ...sameFacts(task.name, ordeal.trees.factsOf(task.agent), journal.facts(task.agent)),
      ...oneEnd(task, journal.facts(task.agent)),
      ...(journal.runs(task.agent).length === 1 ? [] : [`${task.name} had more than one run`]),
    ]),
  ];
}

/** But not the one that was asked for its version: it may outlive the gateway that asked, and ends by itself. */
function processesLeft({ stage }: Ordeal): string[] {
  const commands = stage.processes().map((pid) => `${pid} ${textOf(`/proc/${pid}/cmdline`)}`);
  return commands.filter((command) => !command.endsWith('--version\0'));
}

/** What is wrong with a task that is to have been done, once. */
export function problemsWith(task: StartedTask, { stage, trees }: Ordeal): string[] {
  const { name, agent, steps, effects, asks } = task;
  const facts = trees.factsOf(agent);
  const settled = facts.filter(({ type }) => type === 'permission.resolved').map(({ data }) => data);
  const checks: [string, unknown, unknown][] = [
    ['state', stateOf(facts), 'completed'],
    ['shell lines', existsSync(effects.file) ? linesOf(effects.file) : [], effects.lines],
    ['asked steps', stage.model.stepsAsked(name), steps.map((_, index) => index)],
    ['said', stage.model.said(name), steps.map((step) => ('say' in step ? (step.say ?? '') : ''))],
    ['placed text', trees.text.saidBy(agent), stage.model.said(name)],
    ['asks', facts.filter(({ type }) => type === 'permission.requested').length, asks],
    ['outcomes', settled.map((data) => (data as { outcome: string }).outcome), Array(asks).fill('allowed')],
    ['voided', facts.filter(({ type }) => type === 'permission.voided').length, 0],
  ];
  return checks.flatMap(([what, is, expected]) =>
    isDeepStrictEqual(is, expected) ? [] : [`${name}: ${what}: ${short(is)}, expected ${short(expected)}`],
  );
}

export function stateOf(facts: readonly Fact[]): string | undefined {
  return facts.findLast((fact) => fact.type === 'agent.state')?.data.state;
}

function oneEnd({ name }: StartedTask, facts: readonly Fact[]): string[] {
  const ends = facts.filter((fact) => fact.type === 'agent.state' && isTerminal(fact.data.state));
  const results = facts.filter(({ type }) => type === 'agent.result');
  return [
    ...(ends.length === 1 && ends[0] === facts.at(-1)
      ? []
      : [`${name}: ${ends.length} ends: ${short(ends)}`]),
    ...(results.length === 1 ? [] : [`${name}: ${results.length} results`]),
  ];
}

/** The observer has each row of the journal, as it stands there, once and in order. */
function sameFacts(of: string, seen: readonly Fact[], journaled: readonly Fact[]): string[] {
  const at = journaled.findIndex((fact, index) => !isDeepStrictEqual(fact, seen[index]));
  if (at < 0 && seen.length === journaled.length) return [];
  const place = at < 0 ? journaled.length : at;
  return [
    `${of}: the observer has ${seen.length} of ${journaled.length} facts, different from the ${place}th: ` +
      `${short(seen[place])}, in the journal ${short(journaled[place])}`,
  ];
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').trimEnd().split('\n');
}

function short(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, 600);
}
