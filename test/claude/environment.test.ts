import { describe, expect, test } from 'vitest';
import { type AgentEnvironment, agentEnvironment } from '../../src/claude/environment.ts';

const pick = (spec: Partial<AgentEnvironment>) =>
  agentEnvironment({ from: {}, passEnv: [], run: 'run-1', platform: 'linux', ...spec });
const passed = (names: string[], spec: Partial<AgentEnvironment> = {}) => {
  const from = Object.fromEntries(names.map((name) => [name, 'x']));
  return Object.keys(pick({ from, ...spec })).filter((name) => name !== 'SPAWNGATE_RUN');
};

test('what Claude, a shell, a proxy and TLS need is passed on', () => {
  const names = [
    ...['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK'],
    ...['DISABLE_TELEMETRY', 'CLAUDE_CONFIG_DIR', 'IS_SANDBOX', 'PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL'],
    ...[
      'TMPDIR',
      'TERM',
      'LANG',
      'LC_ALL',
      'TZ',
      'XDG_CONFIG_HOME',
      'HTTPS_PROXY',
      'https_proxy',
      'no_proxy',
    ],
    ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'CURL_CA_BUNDLE'],
  ];
  expect(passed(names)).toEqual(names);
});

test('anything else stays with the gateway', () => {
  expect(passed(['AWS_SECRET_ACCESS_KEY', 'NODE_OPTIONS', 'LD_PRELOAD', 'DATABASE_URL', 'path'])).toEqual([]);
});

test('passEnv lets further names through, and whole families', () => {
  const names = ['AWS_REGION', 'AWS_PROFILE', 'SSH_AUTH_SOCK', 'SSH_AGENT_PID'];
  expect(passed(names, { passEnv: ['AWS_*', 'SSH_AUTH_SOCK'] })).toEqual(names.slice(0, 3));
});

describe('never passed, even when named', () => {
  const nested = [
    ...['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SESSION_ID', 'CLAUDE_CODE_SSE_PORT'],
    ...['CLAUDE_CODE_CHILD_SESSION', 'CLAUDE_CODE_SESSION_ATTENDED', 'CLAUDE_CODE_SESSION_ACCESS_TOKEN'],
    ...[
      'CLAUDE_CODE_EXECPATH',
      'CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS',
      'CLAUDE_PID',
      'CLAUDE_EFFORT',
      'AI_AGENT',
    ],
    ...['CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR', 'TRACEPARENT'],
  ];
  const secrets = ['SPAWNGATE_TOKEN', 'SPAWNGATE_URL', 'SPAWNGATE_FAULT'];

  test('what marks a nested session', () => {
    expect(passed(nested)).toEqual([]);
    expect(passed(nested, { passEnv: [...nested, '*'] })).toEqual([]);
  });

  test('our own secrets', () => {
    expect(passed(secrets, { passEnv: [...secrets, 'SPAWNGATE_*', '*'] })).toEqual([]);
  });

  test('either of them from a task, whose other variables win', () => {
    const task = {
      PATH: '/task',
      EXTRA: '1',
      SPAWNGATE_RUN: 'forged',
      SPAWNGATE_TOKEN: 'x',
      CLAUDECODE: '1',
    };
    expect(pick({ from: { PATH: '/bin' }, task })).toEqual({
      PATH: '/task',
      EXTRA: '1',
      SPAWNGATE_RUN: 'run-1',
    });
  });
});

test('a run is marked, after the marks of the gateways around it', () => {
  expect(pick({ run: 'b' }).SPAWNGATE_RUN).toBe('b');
  expect(pick({ from: { SPAWNGATE_RUN: 'a' }, run: 'b' }).SPAWNGATE_RUN).toBe('a,b');
});

test('Windows has names of its own, and no regard for case', () => {
  const names = ['Path', 'SYSTEMROOT', 'ComSpec', 'PathExt', 'AppData', 'ProgramFiles(x86)', 'Temp'];
  expect(passed(names, { platform: 'win32' })).toEqual(names);
  const forbidden = ['claudecode', 'Spawngate_Token', 'Secret'];
  expect(passed(forbidden, { platform: 'win32', passEnv: ['spawngate_token'] })).toEqual([]);
  expect(passed(['SystemRoot', 'APPDATA'])).toEqual([]);
});
