import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ConfigSources, loadConfig, parseConfig, serveHelp } from '../src/config.ts';
import { ConfigError } from '../src/flags.ts';

const parse = (sources: Partial<ConfigSources> = {}) =>
  parseConfig({ argv: [], env: {}, cwd: '/work', home: '/home/ada', ...sources });
const file = (content: unknown) => ({ path: '/data/config.json', text: JSON.stringify(content) });

test('without anything said, the gateway is on loopback, in the home folder, and allows nothing dangerous', () => {
  expect(parse()).toEqual({
    host: '127.0.0.1',
    port: 4600,
    data: '/home/ada/.spawngate',
    cases: '/home/ada/.spawngate/cases',
    root: ['/work'],
    claude: undefined,
    places: 5,
    maxDepth: 3,
    allowBypass: false,
    allowSkipPermissions: false,
    allowOrigin: [],
    passEnv: [],
    sync: 'normal',
    logLevel: 'info',
    agentEnvironment: {},
    fault: undefined,
  });
});

describe('where a value comes from', () => {
  const env = { SPAWNGATE_PORT: '2', SPAWNGATE_PLACES: '2' };

  test('a flag wins over a variable, a variable over the file, the file over the default', () => {
    const config = parse({ argv: ['--port', '1'], env, file: file({ port: 3, places: 3, maxDepth: 7 }) });
    expect([config.port, config.places, config.maxDepth, config.sync]).toEqual([1, 2, 7, 'normal']);
  });

  test('repeated flags, a list in a variable and an array in the file all make a list', () => {
    const root = ['/a', '/b'];
    expect(parse({ argv: ['--root', '/a', '--root=/b'] }).root).toEqual(root);
    expect(parse({ env: { SPAWNGATE_ROOT: '/a, /b' } }).root).toEqual(root);
    expect(parse({ file: file({ root }) }).root).toEqual(root);
    expect(parse({ argv: ['--pass-env', 'A,B', '--pass-env', 'C_*'] }).passEnv).toEqual(['A', 'B', 'C_*']);
    expect(parse({ argv: ['--root', '/with,comma'] }).root).toEqual(['/with,comma']);
  });

  test('switches are on when named, and can be switched off again', () => {
    expect(parse({ argv: ['--allow-bypass'] }).allowBypass).toBe(true);
    expect(parse({ env: { SPAWNGATE_ALLOW_BYPASS: '1' } }).allowBypass).toBe(true);
    expect(parse({ env: { SPAWNGATE_ALLOW_BYPASS: 'off' } }).allowBypass).toBe(false);
    expect(parse({ argv: ['--no-allow-bypass'], file: file({ allowBypass: true }) }).allowBypass).toBe(false);
  });

  test('an empty variable counts as unset', () => {
    expect(parse({ env: { SPAWNGATE_PORT: '', SPAWNGATE_ROOT: '' } })).toMatchObject({
      port: 4600,
      root: ['/work'],
    });
  });
});

test('paths come out absolute, also with a ~ that no shell has expanded', () => {
  const config = parse({ argv: ['--data=~/gate', '--cases', 'cases', '--root', '../other', '--root', '~'] });
  expect(config.data).toBe('/home/ada/gate');
  expect(config.cases).toBe('/work/cases');
  expect(config.root).toEqual(['/other', '/home/ada']);
});

test('the cases lie in the data folder unless told otherwise', () => {
  expect(parse({ argv: ['--data', '/srv/$&gate'] }).cases).toBe('/srv/$&gate/cases');
});

test('--claude is a command, or a JSON array of exact arguments', () => {
  expect(parse({ argv: ['--claude', '/opt/my claude'] }).claude).toEqual(['/opt/my claude']);
  expect(parse({ env: { SPAWNGATE_CLAUDE: '["node", "a b.js"]' } }).claude).toEqual(['node', 'a b.js']);
  expect(parse({ file: file({ claude: ['node', 'x.js'] }) }).claude).toEqual(['node', 'x.js']);
});

test('an origin is taken as a browser would send it', () => {
  const argv = ['--allow-origin', 'https://Example.com/', '--allow-origin', 'vscode-webview://1a2b'];
  expect(parse({ argv }).allowOrigin).toEqual(['https://example.com', 'vscode-webview://1a2b']);
});

test('the raw environment and the test hook are handed on', () => {
  const env = { SECRET: 'x', SPAWNGATE_FAULT: 'before-spawn' };
  expect(parse({ env })).toMatchObject({ agentEnvironment: env, fault: 'before-spawn' });
});

describe('a ConfigError names what is wrong', () => {
  const cases: [string, Partial<ConfigSources>, RegExp][] = [
    ['an unknown flag', { argv: ['--prot', '1'] }, /'--prot'.*--help/],
    ['a flag without its value', { argv: ['--port'] }, /--port/],
    ['a stray word', { argv: ['please'] }, /'please'/],
    ['a port that is none', { argv: ['--port', '70000'] }, /^--port: must be at most 65535$/],
    ['a port in words', { env: { SPAWNGATE_PORT: 'http' } }, /^SPAWNGATE_PORT: must be a whole number/],
    ['an empty port', { argv: ['--port='] }, /^--port: /],
    ['no places', { file: file({ places: 0 }) }, /^places in \/data\/config.json: must be at least 1$/],
    ['a half switch', { env: { SPAWNGATE_ALLOW_BYPASS: 'maybe' } }, /^SPAWNGATE_ALLOW_BYPASS: must be true/],
    ['an unknown sync', { argv: ['--sync', 'off'] }, /^--sync: must be full or normal$/],
    ['an unknown level', { argv: ['--log-level', 'loud'] }, /^--log-level: must be one of silent/],
    ['any origin', { argv: ['--allow-origin', '*'] }, /^--allow-origin: must be an origin like/],
    ['a page for an origin', { argv: ['--allow-origin', 'https://a.b/c'] }, /^--allow-origin: must be an/],
    ['a broken array', { argv: ['--claude', '["node"'] }, /^--claude: /],
    ['an unknown key', { file: file({ prot: 1 }) }, /config\.json can't be used: .*"prot"/],
    [
      'the data folder in its own file',
      { file: file({ data: '/x' }) },
      /config\.json can't be used: .*"data"/,
    ],
    ['a broken file', { file: { path: '/d/config.json', text: '{' } }, /^\/d\/config.json can't be used: /],
  ];
  test.each(cases)('%s', (_, sources, message) => {
    expect(() => parse(sources)).toThrow(ConfigError);
    expect(() => parse(sources)).toThrow(message);
  });

  test('all of them at once', () => {
    expect(() => parse({ argv: ['--port', 'x', '--places', 'y'] })).toThrow(/--port: .*\n--places: /);
  });
});

test('config.json is read from the data folder', () => {
  const data = mkdtempSync(join(tmpdir(), 'spawngate-config-'));
  try {
    expect(loadConfig(['--data', data]).places).toBe(5);
    writeFileSync(join(data, 'config.json'), '{"places": 2}');
    expect(loadConfig(['--data', data])).toMatchObject({ data, places: 2, agentEnvironment: process.env });
    rmSync(join(data, 'config.json'));
    mkdirSync(join(data, 'config.json'));
    expect(() => loadConfig(['--data', data])).toThrow(/config\.json can't be read/);
  } finally {
    rmSync(data, { recursive: true });
  }
});

test('the help shows each flag with its default', () => {
  for (const flag of [
    '--host',
    '--port',
    '--data',
    '--cases',
    '--root',
    '--claude',
    '--places',
    '--max-depth',
  ])
    expect(serveHelp).toContain(`  ${flag} `);
  for (const flag of ['--allow-bypass', '--allow-skip-permissions', '--allow-origin', '--pass-env', '--sync'])
    expect(serveHelp).toContain(`  ${flag} `);
  expect(serveHelp).toMatch(/--port PORT .*\(default 4600\)/);
  expect(serveHelp).toMatch(/--root DIR .*\(repeatable; default \.\)/);
  expect(serveHelp).toContain('SPAWNGATE_MAX_DEPTH');
});
