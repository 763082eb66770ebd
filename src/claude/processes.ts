import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** One process, told apart from a later one with the same number. Written by the wrapper in the same form. */
export type Identity = { pid: number; start: string; boot: string };

export type ListedProcess = {
  identity: Identity;
  ppid: number;
  pgid: number;
  /** 0 where it isn't known */
  session: number;
  /** One letter, as `ps` shows it. */
  state: string;
  /** SPAWNGATE_RUN in the environment that the process was started with, if that can be read. */
  marker?: string;
};

const onLinux = process.platform === 'linux';
const boot = readBoot();

/** The identities in a `pid` file: the wrapper's, then the command's. A line that isn't whole is not there yet. */
export function parsePidFile(text: string): Identity[] {
  return [...text.matchAll(/^([1-9]\d{0,9}) (\S+) (\S+)\n/gm)].map(([, pid, start = '', boot = '']) => ({
    pid: Number(pid),
    start,
    boot,
  }));
}

/** The same process, and not merely waiting for its parent to notice its end. */
export function isAlive(id: Identity): boolean {
  const found = findProcess(id.pid);
  return found !== undefined && keyOf(found.identity) === keyOf(id) && !isDead(found);
}

export function isDead(listed: ListedProcess): boolean {
  return listed.state === 'Z' || listed.state === 'X';
}

export function keyOf({ pid, start, boot }: Identity): string {
  return `${pid} ${start} ${boot}`;
}

/** Every process that can be seen, zombies too. */
export function listProcesses(): ListedProcess[] {
  if (!onLinux) return listByPs(['-ax']);
  const listed: ListedProcess[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const found = readStat(Number(name));
    if (found) listed.push({ ...found, marker: readMarker(Number(name)) });
  }
  return listed;
}

export function findProcess(pid: number): ListedProcess | undefined {
  return onLinux ? readStat(pid) : listByPs(['-p', String(pid)])[0];
}

function readStat(pid: number): ListedProcess | undefined {
  const text = readProc(`/proc/${pid}/stat`);
  if (!text) return undefined;
  // The name stands in parentheses and may hold anything, spaces and parentheses too; what follows the last one is numbers.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', ppid, pgid, session] = fields;
  const identity = { pid, start: fields[19] ?? '', boot };
  return { identity, ppid: Number(ppid), pgid: Number(pgid), session: Number(session), state };
}

function readMarker(pid: number): string | undefined {
  const environment = readProc(`/proc/${pid}/environ`) ?? '';
  return /(?:^|\0)SPAWNGATE_RUN=([^\0]*)/.exec(environment)?.[1];
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    // It ended meanwhile, or is another user's. Anything else (too many open files) must not pass for a process's end.
    if (hasCode(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) return undefined;
    throw error;
  }
}

function readBoot(): string {
  if (onLinux) return readProc('/proc/sys/kernel/random/boot_id')?.trim() || '-';
  try {
    return execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim() || '-';
  } catch {
    return '-'; // not macOS: the wrapper writes the same
  }
}

// Untested: macOS. There `-E` adds the environment to the command (not for the system's own programs), and `sess` is 0.
function listByPs(which: string[]): ListedProcess[] {
  const columns = 'pid=,ppid=,pgid=,sess=,state=,lstart=,command=';
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC0' };
  const text = runPs([...which, '-Eww', '-o', columns], env);
  const line = /^ *(\d+) +(\d+) +(\d+) +(\S+) +(\S)\S* +((?:\S+ +){4}\S+)(.*)$/gm;
  return [...text.matchAll(line)].map(
    ([, pid, ppid, pgid, session, state = '', start = '', command = '']) => ({
      identity: { pid: Number(pid), start: start.replace(/ +/g, '_'), boot },
      ppid: Number(ppid),
      pgid: Number(pgid),
      session: Number(session) || 0,
      state,
      marker: /.* SPAWNGATE_RUN=(\S*)/.exec(command)?.[1],
    }),
  );
}

function runPs(args: string[], env: Record<string, string>): string {
  try {
    return execFileSync('ps', args, { encoding: 'utf8', env, maxBuffer: 64 << 20 });
  } catch (error) {
    if (hasStatus(error, 1)) return ''; // nothing matched
    throw error;
  }
}

function hasStatus(error: unknown, status: number): boolean {
  return error instanceof Error && 'status' in error && error.status === status;
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
