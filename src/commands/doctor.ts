import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { RefusedError, UnreachableError } from '../../client/index.ts';
import { claudeVersion, findClaude } from '../claude/command.ts';
import { agentEnvironment } from '../claude/environment.ts';
import { claudeLogin } from '../claude/login.ts';
import { doctorFlags, type Told } from '../config.ts';
import { ConfigError } from '../flags.ts';
import { command } from './command.ts';
import { plain, print, printJson } from './output.ts';
import { program } from './program.ts';
import { reach } from './reach.ts';

/** What was looked at, and what to do if it isn't well. */
interface Finding {
  check: string;
  ok: boolean;
  found: string;
  advice?: string;
}

type Patient = Told<typeof doctorFlags>;

export const doctor = command({
  words: [],
  summary: 'look whether all that a gateway needs is there',
  flags: doctorFlags,
  async run(told) {
    const findings = [...(await lookAtClaude(told)), ...lookAtFolders(told), await lookAtGateway(told)];
    for (const finding of findings) {
      if (told.settings.json) printJson(finding);
      else print(lineOf(finding));
    }
    return findings.every(({ ok }) => ok) ? 0 : 1;
  },
});

async function lookAtClaude({ settings, environment }: Patient): Promise<Finding[]> {
  const { command: program } = findClaude({ configured: settings.claude, env: environment });
  const env = agentEnvironment({ from: environment, passEnv: settings.passEnv, run: 'doctor' });
  const asked = await claudeVersion(program, env);
  if ('problem' in asked) {
    const advice = 'Install it (npm install -g @anthropic-ai/claude-code), or name it with --claude.';
    return [{ check: 'claude', ok: false, found: asked.detail, advice }];
  }
  const found = `${asked.version} (${program.join(' ')})`;
  const login = await claudeLogin(program, env);
  const way = 'Start `claude` and say /login, or set ANTHROPIC_API_KEY where the gateway is started.';
  return [
    { check: 'claude', ok: true, found },
    { check: 'login', ok: login.isIn, found: login.how, ...(!login.isIn && { advice: way }) },
  ];
}

function lookAtFolders({ settings: { data, cases, root } }: Patient): Finding[] {
  return [
    lookAtFolder('data', data),
    lookAtFolder('cases', cases),
    ...root.map((path) => lookAtFolder('root', path)),
  ];
}

/** One that is not there yet must be possible to make; a root must be there. */
function lookAtFolder(check: 'data' | 'cases' | 'root', path: string): Finding {
  const nearest = check === 'root' ? path : nearestThere(path);
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
    if (!statSync(nearest).isDirectory()) throw new Error(`${nearest} is no folder`);
    return { check, ok: true, found: nearest === path ? path : `${path} (will be made)` };
  } catch (error) {
    const advice = `Make ${nearest} a folder that this user may write in, or name another folder with --${check}.`;
    return { check, ok: false, found: (error as Error).message, advice };
  }
}

function nearestThere(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestThere(dirname(path));
}

async function lookAtGateway(told: Patient): Promise<Finding> {
  const { url } = told.settings;
  const check = 'gateway';
  try {
    using gateway = await reach(told);
    const { state } = gateway;
    const version = state.is === 'open' ? state.welcome.version : 'no longer';
    return { check, ok: true, found: `${version} at ${url}` };
  } catch (error) {
    if (error instanceof ConfigError) return { check, ok: false, found: 'no token', advice: error.message };
    if (error instanceof UnreachableError) {
      const advice = `Start it with \`${program} serve\`, or name another with --url.`;
      return { check, ok: false, found: `nobody answers at ${url}`, advice };
    }
    if (!(error instanceof RefusedError)) throw error;
    return {
      check,
      ok: false,
      found: error.message,
      advice: 'Name the right token with --token-file or --data.',
    };
  }
}

function lineOf({ check, ok, found, advice }: Finding): string {
  const line = `${ok ? 'ok  ' : 'BAD '} ${check.padEnd(8)} ${plain(found)}`;
  return advice ? `${line}\n              ${advice}` : line;
}
