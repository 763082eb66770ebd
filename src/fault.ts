/**
 * Named places at which tests kill the gateway, so that each gap between two steps is hit on purpose. Armed by
 * the composition root, otherwise one comparison: `SPAWNGATE_FAULT=name`, `name:n` for the n-th passing, and
 * `name@type` or `name@type:n` to count only passings with a fact of that type.
 */
export const faultPoints = [
  /** The agent is journaled, no process was started. */
  'before-spawn',
  /** The process was started, perhaps not yet claimed. */
  'after-spawn',
  /** A decision is journaled, its line isn't written. */
  'commit-to-input',
  /** Half of an input line is written. */
  'half-input',
  /** Output was read, its facts aren't journaled. */
  'read-to-commit',
  /** Facts are journaled, nobody was told. */
  'commit-to-flush',
  /** An agent has ended, its process lives. */
  'end-to-process-end',
  /** The process is gone, its run isn't closed. */
  'process-end-to-close',
  /** The spool is deleted, its run isn't closed. */
  'remove-to-close',
] as const;
export type FaultPoint = (typeof faultPoints)[number];

let armed: { point: FaultPoint; type: string | undefined; left: number } | undefined;

export function armFault(spec: string): void {
  const [, name, type, count = '1'] = /^([^@:]*)(?:@([^:]*))?(?::(\d+))?$/.exec(spec) ?? [];
  const point = faultPoints.find((known) => known === name);
  if (!point) throw new Error(`unknown fault point ${spec}; known: ${faultPoints.join(', ')}`);
  armed = { point, type, left: Number(count) };
}

/** Whether the next passing of this point is the one that ends the process. */
export function aboutToFail(point: FaultPoint): boolean {
  return armed?.point === point && armed.left === 1;
}

/** Ends the process with SIGKILL, if this passing is the one that was asked for. `facts`: those of the step. */
export function faultPoint(point: FaultPoint, facts: readonly { type: string }[] = []): void {
  if (armed?.point !== point) return;
  const { type } = armed;
  if (type !== undefined && !facts.some((fact) => fact.type === type)) return;
  armed.left -= 1;
  if (armed.left === 0) process.kill(process.pid, 'SIGKILL');
}
