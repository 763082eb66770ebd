import { setTimeout } from 'node:timers/promises';
import {
  findProcess,
  hasCode,
  type Identity,
  isAlive,
  isDead,
  keyOf,
  type ListedProcess,
  listProcesses,
} from './processes.ts';

const rounds = 20;
const freezingRounds = 6;
const roundMs = 3;

/**
 * The processes of a run that live: those whose SPAWNGATE_RUN names it, those known from before, and to a fixed point their
 * children and the sessions that they lead. What it can't find: a process that had cleared its environment, left the
 * session and lost its parent before anybody looked (`known` is what was found while they were still related).
 */
export function findFamily(marker: string, known: Identity[] = []): Identity[] {
  return findMembers(marker, known).map((member) => member.identity);
}

/**
 * Ends the family, and tells what could not be ended (another user's, or stuck in the kernel). Aborting cuts the waiting short.
 *
 * It is frozen before it is killed: a stopped parent forks no more and its children stay its children, so when all are
 * stopped and a look finds nobody new, nobody can slip away by being born between the look and the kill.
 */
export async function sweep(run: {
  marker: string;
  known?: Identity[];
  signal?: AbortSignal;
}): Promise<Swept> {
  const known = run.known ?? [];
  const seen = new Map(known.map((id) => [keyOf(id), id]));
  const killed = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const members = findMembers(run.marker, known, [...seen.values()]);
    if (members.length === 0) break;
    for (const { identity } of members) seen.set(keyOf(identity), identity);
    const awake = members.filter((member) => !/[Tt]/.test(member.state));
    if (awake.length > 0 && round < freezingRounds && !run.signal?.aborted) {
      for (const { identity } of awake) signalOne(identity, 'SIGSTOP');
    } else {
      for (const { identity } of members) if (signalOne(identity, 'SIGKILL')) killed.add(keyOf(identity));
    }
    if (run.signal?.aborted) break;
    await setTimeout(roundMs);
  }
  const left = [...seen.values()].filter(isAlive);
  for (const identity of left) killed.delete(keyOf(identity));
  return { ended: killed.size, left };
}

export type Swept = { ended: number; left: Identity[] };

/**
 * Signals the process group that a run's wrapper leads, and tells whether it did. A group's number isn't given away while
 * the group has a member, so one verified member is proof enough: the wrapper, or of `known` whoever outlived it.
 */
export function signalGroup(wrapper: Identity, signal: NodeJS.Signals, known: Identity[] = []): boolean {
  const group = wrapper.pid;
  const isMember = (id: Identity) => isAlive(id) && findProcess(id.pid)?.pgid === group;
  const isOurOwn = findProcess(process.pid)?.pgid === group;
  return group > 1 && !isOurOwn && [wrapper, ...known].some(isMember) && kill(-group, signal);
}

function findMembers(marker: string, known: Identity[], seen = known): ListedProcess[] {
  const processes = listProcesses();
  const isMember = new Set(seen.map(keyOf));
  const relatives = relativesIn(processes, known);
  const spared = lineageOf(process.pid, processes);
  const family = new Set<ListedProcess>();
  // A zombie is no member to be signalled, but it still holds its number, so its session is its own.
  const found = processes.filter((one) => carries(one, marker) || isMember.has(keyOf(one.identity)));
  for (const one of found) {
    if (family.has(one) || spared.has(one.identity.pid)) continue;
    family.add(one);
    found.push(...relatives(one));
  }
  return [...family].filter((one) => !isDead(one));
}

function carries({ marker }: ListedProcess, run: string): boolean {
  return marker?.split(',').includes(run) ?? false;
}

/**
 * Whose fate a member shares. A session is entered by birth only, so all in it descend from its leader: it is ours if the
 * leader is. If the leader is gone, a marker inside proves nothing (a daemon that a stranger started runs our agent's job
 * with our agent's environment). It is ours if we knew its leader and a member that lives in it, at one time: `known` and not
 * what was seen since, for the number isn't given away while the session has a member, but may be later. Never our own.
 */
function relativesIn(
  processes: ListedProcess[],
  known: Identity[],
): (member: ListedProcess) => ListedProcess[] {
  const byParent = Map.groupBy(processes, (one) => one.ppid);
  const bySession = Map.groupBy(processes, (one) => one.session);
  const pids = new Set(processes.map((one) => one.identity.pid));
  const knownPids = new Set(known.map((id) => id.pid));
  const isKnown = new Set(known.map(keyOf));
  const ownSession = processes.find((one) => one.identity.pid === process.pid)?.session;
  const sharesSession = ({ identity, session }: ListedProcess) =>
    session > 1 &&
    session !== ownSession &&
    (session === identity.pid ||
      (!pids.has(session) && knownPids.has(session) && isKnown.has(keyOf(identity))));
  return (member) => [
    ...(byParent.get(member.identity.pid) ?? []),
    ...(sharesSession(member) ? (bySession.get(member.session) ?? []) : []),
  ];
}

/** A process and its ancestors, and what must never be signalled anyway. */
function lineageOf(pid: number, processes: ListedProcess[]): Set<number> {
  const parents = new Map(processes.map((one) => [one.identity.pid, one.ppid]));
  const lineage = new Set([0, 1]);
  for (
    let next: number | undefined = pid;
    next !== undefined && !lineage.has(next);
    next = parents.get(next)
  ) {
    lineage.add(next);
  }
  return lineage;
}

function signalOne(id: Identity, signal: NodeJS.Signals): boolean {
  return isAlive(id) && kill(id.pid, signal);
}

function kill(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (hasCode(error, 'ESRCH', 'EPERM')) return false; // ended meanwhile, or not ours to signal
    throw error;
  }
}
