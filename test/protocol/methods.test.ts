import { describe, expect, it } from 'vitest';
import { isMethodName, type MethodName, methods } from '../../src/protocol/methods.ts';
import { params } from './samples.ts';

const names = Object.keys(methods) as MethodName[];

function accepts(method: MethodName, value: unknown): boolean {
  return methods[method].params.safeParse(value).success;
}

describe.each(names)('%s', (name) => {
  it('takes all its parameters', () => {
    expect(methods[name].params.parse(params[name])).toEqual(params[name]);
    expect(Object.keys(params[name]).sort()).toEqual(Object.keys(methods[name].params.shape).sort());
  });

  it('refuses an unknown parameter', () => {
    expect(accepts(name, { ...params[name], surprise: 1 })).toBe(false);
  });

  it(`${methods[name].mutates ? 'takes' : 'does not take'} a key`, () => {
    const { key: _, ...rest } = params[name] as { key?: string };
    expect(accepts(name, { ...rest, key: 'x'.repeat(200) })).toBe(methods[name].mutates);
    expect(accepts(name, { ...rest, key: 'x'.repeat(201) })).toBe(false);
    expect(accepts(name, { ...rest, key: '' })).toBe(false);
  });

  it('lets unknown fields of its result pass', () => {
    const { def } = methods[name].result;
    expect(def.catchall?._zod.def.type).toBe('unknown');
  });
});

describe('task.start', () => {
  it.each([
    ['no prompt', {}],
    ['a blank prompt', { prompt: ' \n' }],
    ['no content block', { prompt: [] }],
    ['a blank text block', { prompt: [{ type: 'text', text: '' }] }],
    ['a block of another type', { prompt: [{ type: 'tool_use', id: 'x' }] }],
    ['a relative cwd', { prompt: 'x', cwd: 'work' }],
    ['a cwd with NUL', { prompt: 'x', cwd: '/a\0b' }],
    ['a cwd over 4096', { prompt: 'x', cwd: `/${'a'.repeat(4096)}` }],
    ['a name over 200', { prompt: 'x', name: 'n'.repeat(201) }],
    ['a model that looks like an option', { prompt: 'x', model: '--dangerously-skip-permissions' }],
    ['a tool rule that looks like an option', { prompt: 'x', allowedTools: ['-p'] }],
    ['an unknown mode', { prompt: 'x', permissionMode: 'bogus' }],
    ['a limit of 0', { prompt: 'x', limits: { timeoutMinutes: 0 } }],
    ['more than a year', { prompt: 'x', limits: { idleMinutes: 525_601 } }],
    ['tokens without bound', { prompt: 'x', limits: { maxTokens: 1e13 } }],
    ['an unknown limit', { prompt: 'x', limits: { minutes: 3 } }],
    ['a variable with a bad name', { prompt: 'x', env: { 'A=B': 'c' } }],
    ['a variable with NUL', { prompt: 'x', env: { A: 'b\0' } }],
    ['null for an absent field', { prompt: 'x', name: null }],
  ])('refuses %s', (_, value) => {
    expect(accepts('task.start', value)).toBe(false);
  });

  it('needs no prompt with keepOpen', () => {
    expect(accepts('task.start', { keepOpen: true })).toBe(true);
  });

  it.each(['/work', 'C:\\work', 'D:/work', '\\\\host\\share'])('takes %s for absolute', (cwd) => {
    expect(accepts('task.start', { prompt: 'x', cwd })).toBe(true);
  });

  it('takes a prompt that only the frame bounds', () => {
    expect(accepts('task.start', { prompt: 'x'.repeat(5_000_000) })).toBe(true);
  });
});

describe('task.configure', () => {
  it('needs something to change', () => {
    expect(accepts('task.configure', { agent: 'a' })).toBe(false);
  });
});

describe('permission.answer', () => {
  const base = { permission: 'p' };

  it.each([
    ['interrupt with allow', { behavior: 'allow', interrupt: true }],
    ['an input with deny', { behavior: 'deny', updatedInput: {} }],
    ['answers with deny', { behavior: 'deny', answers: {} }],
    ['remember with deny', { behavior: 'deny', remember: 'run' }],
    ['a rule without remember', { behavior: 'allow', rule: 'Bash(ls *)' }],
    ['no behavior', {}],
  ])('refuses %s', (_, value) => {
    expect(accepts('permission.answer', { ...base, ...value })).toBe(false);
  });

  it('names the field that does not fit', () => {
    const parsed = methods['permission.answer'].params.safeParse({
      ...base,
      behavior: 'deny',
      remember: 'run',
    });
    expect(parsed.error?.issues[0]?.path).toEqual(['remember']);
  });
});

it('knows its own names only', () => {
  expect(isMethodName('task.start')).toBe(true);
  expect(isMethodName('toString')).toBe(false);
});
