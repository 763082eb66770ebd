import { expect, test } from 'vitest';
import { messagesRequestSchema, toolId, whatIsAsked } from './model-conversation.ts';
import { findScript, script } from './model-script.ts';

const prompt = script([{ say: 'zero' }, { say: 'one' }, { say: 'two' }], { name: 'main' });
const start = { role: 'user', content: [text('<system-reminder>Hello.</system-reminder>'), text(prompt)] };
const main = findScript(prompt) ?? expect.fail('no script');

function text(value: string) {
  return { type: 'text', text: value };
}
const call = (index: number, unique: string) => ({ type: 'tool_use', id: toolId(main, index, unique) });
const assistant = (...content: { type: string }[]) => ({ role: 'assistant', content });
const user = (...content: { type: string }[]) => ({ role: 'user', content });
const outcome = { type: 'tool_result', content: 'fine' };

function asked(messages: { role: string; content: unknown }[], rest: Record<string, unknown> = {}) {
  const request = { model: 'm', max_tokens: 9, tools: [{}], ...rest, messages };
  const found = whatIsAsked(messagesRequestSchema.parse(request));
  return found.kind === 'step' ? `${found.script.name} ${found.index}` : found.kind;
}

// The shapes are those that 2.1.197 and 2.1.332 sent.
test.each([
  ['the start', [start], 'main 0'],
  ['a reply', [start, assistant(text('zero')), user(text('go on'))], 'main 1'],
  ['a tool call', [start, assistant(text('x'), call(0, '1_0')), user(outcome)], 'main 1'],
  [
    'a reply in two parts',
    [start, assistant(call(0, '1_0')), user(outcome), assistant(call(0, '1_1')), user(outcome)],
    'main 1',
  ],
  [
    'a reply in two messages',
    [start, assistant(text('x')), assistant(call(0, '1_0')), user(outcome)],
    'main 1',
  ],
  ['a note of the CLI between', [start, { role: 'system', content: 'Environment' }], 'main 0'],
  [
    'an interruption before the first byte',
    [user(text(prompt), text('[Request interrupted by user]\n'), text('go on'))],
    'main 1',
  ],
  [
    'an interruption inside a text',
    [start, assistant(text('ze')), user(text('[Request interrupted by user]\n'), text('go on'))],
    'main 1',
  ],
  [
    'a resumed conversation',
    [
      start,
      assistant(call(0, '1_0')),
      user(outcome),
      assistant(text('No response requested.')),
      user(text('go on')),
    ],
    'main 1',
  ],
  [
    'more replies than steps',
    [start, ...[0, 1, 2].flatMap(() => [assistant(text('x')), user(text('y'))])],
    'main 3',
  ],
])('after %s the next step is right', (_, messages, expected) => {
  expect(asked(messages)).toBe(expected);
});

test.each(['user', 'system'])('a newer script in a %s message takes over', (role) => {
  const steer = `The user sent a new message:\n${script([{ say: 'x' }], { name: 'steer' })}\nDo it.`;
  const messages = [start, assistant(call(0, '1_0')), user(outcome), { role, content: steer }];
  expect(asked(messages)).toBe('steer 0');
  expect(asked([...messages, assistant(text('x')), user(text('go on'))])).toBe('steer 1');
});

test('a script inside a script is found only by the agent that is given it', () => {
  const inner = script([{ say: '</script>' }], { name: 'inner <b> "quoted"' });
  const outer = script([{ tool: 'Task', input: { prompt: inner } }], { name: 'outer' });
  expect(asked([user(text(outer))])).toBe('outer 0');
  expect(asked([user(text(inner))])).toBe('inner <b> "quoted" 0');
});

test('scripts in tool results and in replies of the model are no orders', () => {
  const result = { type: 'tool_result', content: [text(prompt)] };
  expect(asked([user(text('hello')), assistant(text(prompt)), user(result)])).toBe('plain');
});

test.each([
  ['without tools', [start], { tools: [] }],
  ['of one token', [start], { max_tokens: 1 }],
  ['for a summary', [start, user(text('CRITICAL. Your task is to create a detailed summary of it.'))], {}],
])('a request %s is no step', (_, messages, rest) => {
  expect(asked(messages, rest)).toBe('side');
});

test('an unreadable script is an error, an HTML tag is not', () => {
  expect(() => findScript('<script>[{"shout":"x"}]</script>')).toThrow('Invalid input');
  expect(findScript('<script src="x.js">let a</script>')).toBeUndefined();
});
