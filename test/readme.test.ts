import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { serveHelp } from '../src/config.ts';
import { script } from './support/model-script.ts';
import { Stage } from './support/stage.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const blocks = [...readme.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, text = '']) => ({
  language,
  text,
}));

test('the example starts a task, prints its text, answers its permission, and ends', async () => {
  await using stage = await Stage.open();
  const folder = mkdtempSync(join(tmpdir(), 'spawngate-readme-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const file = join(folder, 'try.mjs');
    writeFileSync(file, blocks.find(({ language }) => language === 'js')?.text ?? '');
    const { url, token, work } = stage.gateway;
    const prompt = script([
      {
        say: 'Here I go.',
        tool: 'Bash',
        input: { command: 'touch made', description: 'Make a file' },
        chunk: 3,
      },
      { say: 'That was all.', chunk: 4 },
    ]);
    const env = { ...process.env, SPAWNGATE_URL: url, SPAWNGATE_TOKEN: token };
    const { stdout } = await promisify(execFile)(process.execPath, [file, prompt, work], { env });
    expect(stdout).toBe(
      'Here I go.\nallowed: Bash {"command":"touch made","description":"Make a file"}\nThat was all.\n',
    );
    expect(existsSync(join(work, 'made'))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the flags are those that --help tells', () => {
  expect(blocks.map(({ text }) => text)).toContain(`${serveHelp}\n`);
});

test('its commands are scripts of the package', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const named = [...readme.matchAll(/\bnpm (?:run (?:-s )?)?([a-z:]+)/g)].map(([, name = '']) => name);
  for (const name of named.filter((name) => name !== 'ci')) expect(Object.keys(scripts)).toContain(name);
});

test('the layout names what is in src, and nothing else', () => {
  const layout = blocks.find(({ text }) => text.startsWith('src/\n'))?.text ?? '';
  const named = [...layout.matchAll(/^ {2}(\S+?)\/? /gm)].map(([, name]) => name);
  expect(named.sort()).toEqual(readdirSync(join(root, 'src')).sort());
});

test('its links lead somewhere', () => {
  for (const [, link = ''] of readme.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
    expect(existsSync(join(root, link)), link).toBe(true);
  }
});
