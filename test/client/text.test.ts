import { expect, test } from 'vitest';
import { SpokenText, type TreeEvent } from '../../client/index.ts';
import { delta, fact } from './scripted-gateway.ts';

const said = (message: string, block: number, text: string, more: object = {}) =>
  fact(1, 'message', {
    message,
    block,
    data: { type: 'assistant', message: { content: [{ type: 'text', text }] }, ...more },
  });
const spoken = (...events: object[]) => {
  const text = new SpokenText('a');
  return events.map((event) => text.add(event as TreeEvent));
};

test('text that has grown is not said again by its complete message', () => {
  expect(spoken(delta(0, 'Good '), delta(5, 'day'), said('m1', 0, 'Good day'))).toEqual(['Good ', 'day', '']);
});

test('what a complete message has beyond what has grown is said then', () => {
  expect(spoken(delta(0, 'Good '), said('m1', 0, 'Good day'))).toEqual(['Good ', 'day']);
  expect(spoken(said('m1', 0, 'Good day'))).toEqual(['Good day']);
});

test('a blank line stands between two blocks, and none before the first', () => {
  expect(
    spoken(delta(0, 'One'), said('m1', 0, 'One'), delta(0, 'Two', { block: 1 }), said('m2', 0, 'Three')),
  ).toEqual([...['One', '', '\n\nTwo', '\n\nThree']]);
});

test('thinking, tool input, subagents, other agents and the lines of users are not said', () => {
  const silent = [
    delta(0, 'hm', { kind: 'thinking' }),
    delta(0, '{', { kind: 'input' }),
    delta(0, 'sub', { parentToolUse: 'toolu_1' }),
    delta(0, 'other', { agent: 'b' }),
    said('m2', 0, 'sub', { parent_tool_use_id: 'toolu_1' }),
    said('m3', 0, 'tool result', { type: 'user' }),
    fact(2),
  ];
  expect(spoken(...silent).join('')).toBe('');
});
