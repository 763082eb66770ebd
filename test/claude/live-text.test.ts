import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readLine, type StreamEvent } from '../../src/claude/lines.ts';
import { type LivePiece, LiveText } from '../../src/claude/live-text.ts';
import { recorded } from '../support/recorded.ts';

type Delta = Extract<StreamEvent, { type: 'content_block_delta' }>;

const start = (message: string): StreamEvent => ({ type: 'message_start', message });
const stop: StreamEvent = { type: 'message_stop' };
const block = (index: number, type = 'text', tool?: { id: string; name: string }): StreamEvent => ({
  type: 'content_block_start',
  index,
  block: { type, ...tool },
});
const delta = (index: number, text: string): Delta => ({
  type: 'content_block_delta',
  index,
  kind: 'text',
  text,
});

/** What a reader has who gets these pieces: by block, each piece where the one before ended. */
function placed(pieces: readonly LivePiece[], have = new Map<string, string>()): Map<string, string> {
  for (const { message, block: index, parentToolUse = '', at, text } of pieces) {
    const name = `${parentToolUse} ${message} ${index}`;
    const before = have.get(name) ?? '';
    expect(at).toBe(before.length);
    have.set(name, before + text);
  }
  return have;
}

/** Takes all in, and gives the pieces. */
function takeAll(live: LiveText, events: readonly StreamEvent[], parent?: string): LivePiece[] {
  return events.flatMap((event) => live.take(event, 0, parent).piece ?? []);
}

describe('live text', () => {
  test('is placed by message, block and position', () => {
    const live = new LiveText();
    const pieces = takeAll(live, [
      start('m'),
      block(0, 'thinking'),
      delta(0, 'hm'),
      block(1),
      delta(1, 'He'),
      delta(1, 'y'),
    ]);
    expect(pieces).toEqual([
      { message: 'm', block: 0, kind: 'thinking', at: 0, text: 'hm' },
      { message: 'm', block: 1, kind: 'text', at: 0, text: 'He' },
      { message: 'm', block: 1, kind: 'text', at: 2, text: 'y' },
    ]);
    expect(live.soFar()).toEqual([
      { message: 'm', block: 0, kind: 'thinking', at: 0, text: 'hm' },
      { message: 'm', block: 1, kind: 'text', at: 0, text: 'Hey' },
    ]);
  });

  test('of a tool’s input names the tool in its first piece, and whenever it is given from 0', () => {
    const live = new LiveText();
    const tool = { id: 't1', name: 'Bash' };
    const pieces = takeAll(live, [
      start('m'),
      block(0, 'tool_use', tool),
      delta(0, '{"com'),
      delta(0, 'mand"'),
    ]);
    expect(pieces.map((piece) => [piece.kind, piece.tool])).toEqual([
      ['input', tool],
      ['input', undefined],
    ]);
    expect(live.soFar()).toEqual([
      { message: 'm', block: 0, kind: 'input', at: 0, text: '{"command"', tool },
    ]);
  });

  test('is over for a block whose complete message has come, in the order of the blocks', () => {
    const live = new LiveText();
    takeAll(live, [start('m'), block(0), delta(0, 'a'), block(1), delta(1, 'b')]);
    live.settleNext('another');
    live.settleNext('m', 'of a subagent');
    expect(live.soFar()).toHaveLength(2);
    live.settleNext('m');
    expect(live.soFar().map(({ text }) => text)).toEqual(['b']);
    expect(live.take(delta(0, 'late'), 0).piece).toBeUndefined();
    live.settleNext('m');
    expect(live.take(stop, 0)).toEqual({ broken: [] });
  });

  test.each([
    ['another message begins', start('next')],
    ['the message stops', stop],
  ])('that no complete message brought breaks off when %s', (_, event) => {
    const live = new LiveText();
    takeAll(live, [start('m'), block(0), delta(0, 'all'), block(1), delta(1, 'half'), block(2)]);
    live.settleNext('m');
    expect(live.take(event, 9).broken).toEqual([
      { message: 'm', block: 1, kind: 'text', at: 0, text: 'half' },
    ]);
    expect(live.soFar()).toEqual([]);
  });

  test('of subagents stands beside that of the main thread', () => {
    const live = new LiveText();
    takeAll(live, [start('m'), block(0), delta(0, 'main')]);
    const [piece] = takeAll(live, [start('s'), block(0), delta(0, 'sub')], 'tool');
    expect(piece).toMatchObject({ message: 's', parentToolUse: 'tool', text: 'sub' });
    expect(live.take(stop, 0, 'tool').broken).toHaveLength(1);
    expect(live.soFar().map(({ text }) => text)).toEqual(['main']);
  });

  test('keeps the first byte of the oldest unfinished message', () => {
    const live = new LiveText();
    expect(live.oldest).toBeUndefined();
    live.take(start('s'), 70, 'tool');
    live.take(start('m'), 300);
    expect(live.oldest).toBe(70);
    live.take(stop, 400, 'tool');
    expect(live.oldest).toBe(300);
    live.breakOff();
    expect(live.oldest).toBeUndefined();
  });

  test('that grows too long is cut for good, as a later piece would stand at a wrong position', () => {
    const live = new LiveText();
    const pieces = takeAll(live, [
      ...[start('m'), block(0, 'tool_use'), delta(0, 'x'.repeat(65_000))],
      ...[delta(0, 'y'.repeat(600)), delta(0, 'short')],
    ]);
    expect(pieces.map(({ text }) => text.length)).toEqual([65_000]);
    expect(live.soFar().map(({ text }) => text.length)).toEqual([65_000]);
  });

  test.each([
    ['a block of an unknown kind', [start('m'), block(0, 'server_tool_use'), delta(0, 'x')]],
    ['a block that was not begun', [start('m'), delta(3, 'x')]],
    ['no message', [block(0), delta(0, 'x')]],
  ])('is none in %s', (_, events) => {
    const live = new LiveText();
    expect(takeAll(live, events)).toEqual([]);
    expect(live.soFar()).toEqual([]);
  });
});

const runs = [
  ['2.1.197', 'basic_hello', [' msg_1 0', 'Let me think about it'], [' msg_1 1', 'Hello there friend']],
  [
    '2.1.332',
    'b_interrupt_streaming',
    [' msg_494 0', 'word0 word1 word2 word3 word4 word5 '],
    [' msg_496 0', 'Hello from mock'],
  ],
] as const;

/** Each delta of the stream in random pieces. */
function cutUp(events: readonly StreamEvent[]): fc.Arbitrary<StreamEvent[]> {
  return fc.infiniteStream(fc.integer({ min: 1, max: 5 })).map((sizes) =>
    events.flatMap((event) => {
      if (event.type !== 'content_block_delta') return [event];
      const parts: StreamEvent[] = [];
      for (let rest = event.text; rest !== ''; ) {
        const size = sizes.next().value;
        parts.push({ ...event, text: rest.slice(0, size) });
        rest = rest.slice(size);
      }
      return parts;
    }),
  );
}

test.each(runs)(
  'a recorded stream (%s %s) gives the same text however it is cut',
  (version, name, ...texts) => {
    const events = recorded(version, name)
      .map((json) => readLine(json).line)
      .flatMap((line) => (line.kind === 'stream' ? [line.event] : []));
    fc.assert(
      fc.property(cutUp(events), fc.nat(), (stream, joins) => {
        const live = new LiveText();
        const whole = new Map<string, string>();
        // Who joins in the middle has what is unfinished, and then misses nothing.
        const late = new Map<string, string>();
        for (const [i, event] of stream.entries()) {
          if (i === joins % stream.length) placed(live.soFar(), late);
          const { piece } = live.take(event, 0);
          if (!piece) continue;
          placed([piece], whole);
          if (i >= joins % stream.length) placed([piece], late);
        }
        expect([...whole]).toEqual(texts);
        for (const [block, text] of late) expect(whole.get(block)).toBe(text);
      }),
    );
  },
);

test('threads that write at the same time keep their texts apart, and break off with all that is unfinished', () => {
  const thread = fc.constantFrom(undefined, 'tool1', 'tool2');
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('write' as const),
        text: fc.string({ minLength: 1, unit: 'grapheme' }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('block' as const), text: fc.constant('') }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('settle' as const), text: fc.constant('') }) },
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(thread, step), { maxLength: 60 }), (steps) => {
      const live = new LiveText();
      const texts = new Map<string, string[]>();
      const settled = new Map<string, number>();
      for (const [parent, { do: what, text }] of steps) {
        const key = parent ?? '';
        const blocks = texts.get(key) ?? [];
        if (!texts.has(key)) live.take(start(`of ${key}`), 0, parent);
        texts.set(key, blocks);
        if (what === 'block') live.take(block(blocks.push('') - 1), 0, parent);
        if (what === 'write' && blocks.length > (settled.get(key) ?? 0)) {
          live.take(delta(blocks.length - 1, text), 0, parent);
          blocks[blocks.length - 1] += text;
        }
        if (what === 'settle' && blocks.length > (settled.get(key) ?? 0)) {
          live.settleNext(`of ${key}`, parent);
          settled.set(key, (settled.get(key) ?? 0) + 1);
        }
      }
      const unfinished = [...texts].flatMap(([key, blocks]) =>
        blocks
          .map((text, i) => [`${key} of ${key} ${i}`, text] as const)
          .filter(([, text], i) => i >= (settled.get(key) ?? 0) && text !== ''),
      );
      expect([...placed(live.soFar())]).toEqual(unfinished);
      expect([...placed(live.breakOff())]).toEqual(unfinished);
      expect(live.soFar()).toEqual([]);
    }),
  );
});
