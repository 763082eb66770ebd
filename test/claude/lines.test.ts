import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CliLine, readLine } from '../../src/claude/lines.ts';
import { recorded } from '../support/recorded.ts';

const read = (json: Record<string, unknown>): CliLine => readLine(json).line;

/** What a run's lines mean, in order; neighbours of one kind count once, noise not at all. */
function story(lines: readonly CliLine[]): string {
  const kinds = lines.map(({ kind }) => kind).filter((kind) => kind !== 'noise');
  return kinds.filter((kind, i) => kind !== kinds[i - 1]).join(' ');
}

function ofKind<K extends CliLine['kind']>(lines: readonly CliLine[], kind: K) {
  return lines.filter((line): line is Extract<CliLine, { kind: K }> => line.kind === kind);
}

describe('a recorded run', () => {
  test.each([
    ['2.1.197', 'basic_hello', 'init stream assistant stream assistant stream result'],
    ['2.1.197', 'e_resume_unknown', 'result'],
    ['2.1.197', 'k_sigint_stream', 'init assistant user result'],
    [
      '2.1.197',
      'k_sigterm_bashbg',
      'init assistant taskStarted user assistant result taskOver other taskOver init assistant result',
    ],
    [
      '2.1.332',
      'a_interrupt_pending',
      'init assistant ask withdrawn reply user result init assistant result',
    ],
    [
      '2.1.332',
      'b_interrupt_streaming',
      'init stream reply assistant user stream result init stream assistant stream result',
    ],
    [
      '2.1.332',
      'd_queue_midturn_tools',
      'init echo assistant ask reply user echo assistant ask reply user assistant result',
    ],
    [
      '2.1.332',
      'f_agent_bg',
      'other init assistant other taskStarted user assistant other ask other result taskStarted taskOver user assistant other taskOver other init assistant result silent',
    ],
    [
      '2.1.332',
      'x_state_two_pending',
      'other init assistant other ask assistant other ask user other user assistant result silent',
    ],
  ] as const)('%s %s is understood', (version, name, expected) => {
    const lines = recorded(version, name).map(read);
    expect(story(lines)).toBe(expected);
    // Tool results, echoes and notes are no questions.
    for (const user of ofKind(lines, 'user')) expect(user.question).toBe(false);
  });

  test('names its session in its lines', () => {
    const sessions = recorded('2.1.332', 'a_interrupt_pending').map((json) => readLine(json).session);
    expect(new Set(sessions.filter((session) => session !== undefined)).size).toBe(1);
  });

  test('tells which request is asked for, and that it was withdrawn', () => {
    const lines = recorded('2.1.332', 'a_interrupt_pending').map(read);
    const [ask] = ofKind(lines, 'ask');
    expect(ask?.ask).toMatchObject({
      tool: 'Bash',
      input: { command: 'touch marker && echo hi', description: 'say hi' },
      toolUse: 'toolu_463_0',
      suggestions: [{ type: 'addRules' }, { type: 'addDirectories' }, { type: 'setMode' }],
    });
    expect(ofKind(lines, 'withdrawn')).toEqual([{ kind: 'withdrawn', requestId: ask?.ask.requestId }]);
    expect(ofKind(lines, 'user')[0]?.results).toEqual(['toolu_463_0']);
    expect(ofKind(lines, 'result').map(({ result }) => [result.isError, result.text])).toEqual([
      [true, undefined],
      [false, 'after tool'],
    ]);
  });

  test('tells what a subagent says from what the agent says', () => {
    const lines = recorded('2.1.332', 'f_agent_bg').map(read);
    const said = ofKind(lines, 'assistant').map(({ parent, text }) => [parent, text]);
    expect(said).toEqual([
      [undefined, ''],
      [undefined, 'started bg agent'],
      ['toolu_600_0', ''],
      ['toolu_600_0', 'slow sub done'],
      [undefined, 'bg agent finished, noted'],
    ]);
    const started = ofKind(lines, 'taskStarted').find(({ run }) => run !== undefined);
    expect(ofKind(lines, 'taskOver')).toContainEqual({
      kind: 'taskOver',
      task: started?.task,
      stopped: false,
    });
    // The result of the turn that the CLI began for it names its run.
    const runs = ofKind(lines, 'result').map(({ result: { unasked, run } }) => [unasked, run]);
    expect(runs).toEqual([
      [undefined, undefined],
      [true, started?.run],
    ]);
  });

  test('that could not begin says why in its only line', () => {
    const [line] = recorded('2.1.197', 'e_resume_unknown').map(read);
    expect(line).toMatchObject({
      kind: 'result',
      result: {
        isError: true,
        subtype: 'error_during_execution',
        errors: [expect.stringContaining('No conversation found')],
      },
    });
  });
});

const event = (json: Record<string, unknown>) => ({ type: 'stream_event', event: json });
const forms: [string, Record<string, unknown>, CliLine][] = [
  [
    'an assistant message without its envelope',
    { role: 'assistant', content: [{ type: 'text', text: 'a' }] },
    { kind: 'assistant', text: 'a', calls: [] },
  ],
  [
    'an assistant message that ended its turn by itself',
    { type: 'assistant', stop_reason: 'end_turn', message: { id: 'm', content: [] } },
    { kind: 'assistant', text: '', calls: [], final: true, message: 'm' },
  ],
  [
    'a call among text',
    {
      type: 'assistant',
      message: {
        content: [
          { type: 'text', text: 'a' },
          { type: 'tool_use', id: 't', name: 'Bash', input: {} },
          { type: 'text', text: 'b' },
        ],
      },
    },
    { kind: 'assistant', text: 'ab', calls: [{ id: 't', name: 'Bash' }] },
  ],
  ['an echo', { type: 'user', isReplay: true, uuid: 'u' }, { kind: 'echo', uuid: 'u' }],
  [
    'a question',
    { type: 'user', message: { content: 'Shall I?' } },
    { kind: 'user', results: [], question: true },
  ],
  [
    'no question: a note',
    { type: 'user', message: { content: [{ type: 'text', text: '[Request interrupted by user]' }] } },
    { kind: 'user', results: [], question: false },
  ],
  [
    'no question: made by the CLI',
    { type: 'user', isSynthetic: true, message: { content: 'x' } },
    { kind: 'user', results: [], question: false },
  ],
  [
    'no question: a subagent’s prompt',
    { type: 'user', parent_tool_use_id: 't', message: { content: 'x' } },
    { kind: 'user', results: [], question: false },
  ],
  [
    'a request that we don’t know',
    { type: 'control_request', request_id: 'r', request: { subtype: 'elicit' } },
    { kind: 'request', requestId: 'r', subtype: 'elicit' },
  ],
  [
    'a request without an id',
    { type: 'control_request', request: { subtype: 'can_use_tool' } },
    { kind: 'noise' },
  ],
  [
    'a failed request of ours',
    { type: 'control_response', response: { subtype: 'error', request_id: 'r', error: 'no' } },
    { kind: 'reply', requestId: 'r', error: 'no' },
  ],
  [
    'a request of the CLI that is withdrawn',
    { type: 'control_cancel_request', request_id: 'r' },
    { kind: 'withdrawn', requestId: 'r' },
  ],
  [
    'the end of a session’s turn, older',
    { type: 'session_state_changed', state: 'idle' },
    { kind: 'silent' },
  ],
  [
    'the end of a session’s turn',
    { type: 'system', subtype: 'session_state_changed', state: 'idle' },
    { kind: 'silent' },
  ],
  [
    'a status that matters',
    { type: 'system', subtype: 'status', status: 'requesting', permissionMode: 'plan' },
    { kind: 'other' },
  ],
  ['a status that doesn’t', { type: 'system', subtype: 'status', status: 'requesting' }, { kind: 'noise' }],
  [
    'an empty delta',
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '' } }),
    { kind: 'noise' },
  ],
  [
    'a delta of a new kind',
    event({ type: 'content_block_delta', index: 0, delta: { type: 'citations_delta' } }),
    { kind: 'noise' },
  ],
  [
    'a piece of a tool’s input, by a subagent',
    {
      ...event({
        type: 'content_block_delta',
        index: 2,
        delta: { type: 'input_json_delta', partial_json: '{"' },
      }),
      parent_tool_use_id: 't',
    },
    {
      kind: 'stream',
      event: { type: 'content_block_delta', index: 2, kind: 'input', text: '{"' },
      parent: 't',
    },
  ],
  ['a line of a new type', { type: 'weather', rain: true }, { kind: 'other' }],
];

test.each(forms)('%s', (_, json, meaning) => {
  expect(read(json)).toEqual(meaning);
});

test('a result with fields of other types still counts', () => {
  const odd = {
    type: 'result',
    is_error: 'yes',
    result: 7,
    errors: 'x',
    usage: { input_tokens: 'many' },
    total_cost_usd: null,
  };
  expect(read(odd)).toMatchObject({
    kind: 'result',
    result: { isError: false, errors: [], turns: 0, usage: {} },
  });
});

test('no line makes it throw, whatever becomes of the fields', () => {
  const lines = ['b_interrupt_streaming', 'f_agent_bg', 'd_queue_midturn_tools'].flatMap((name) =>
    recorded('2.1.332', name),
  );
  const places = lines.flatMap((line) => pathsOf(line).map((path) => ({ line, path })));
  const value = fc.oneof(
    fc.constantFrom(null, undefined, [], {}, '', 'idle', 0, true),
    fc.json().map((json) => JSON.parse(json)),
  );
  fc.assert(
    fc.property(fc.constantFrom(...places), value, ({ line, path }, other) => {
      expect(readLine(changed(line, path, other)).line).toHaveProperty('kind');
    }),
    { numRuns: 3000 },
  );
});

function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    [name],
    ...pathsOf(inner).map((path) => [name, ...path]),
  ]);
}

function changed(value: unknown, [name = '', ...rest]: string[], other: unknown): Record<string, unknown> {
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[name] = rest.length > 0 ? changed(copy[name], rest, other) : other;
  return copy;
}
