import { expect, test } from 'vitest';
import { readLine } from '../../src/claude/lines.ts';
import { recordings } from './recordings.ts';
import { type Fate, type Heard, kindOf, Replay } from './replay.ts';

const all = recordings();
const lines = all.flatMap(({ heard }) => heard);

/** What is to become of a line, by its kind; where there are two, of how many each. */
const expected: Record<string, Partial<Record<Fate, number>>> = {
  assistant: { fact: 354 },
  user: { fact: 192 },
  'result/success': { fact: 200 },
  'result/error_during_execution': { fact: 15 },
  'result/error_max_budget_usd': { fact: 2 },
  'result/error_max_turns': { fact: 4 },
  'system/init': { fact: 227 },
  'system/api_retry': { fact: 33 },
  'system/background_tasks_changed': { fact: 19 },
  'system/compact_boundary': { fact: 2 },
  'system/informational': { fact: 3 },
  'system/model_fallback': { fact: 1 },
  'system/permission_denied': { fact: 2 },
  'system/session_state_changed': { fact: 25 },
  'system/task_notification': { fact: 26 },
  'system/task_progress': { fact: 13 },
  'system/task_started': { fact: 24 },
  'system/task_updated': { fact: 17 },
  conversation_reset: { fact: 1 },
  // Those that say `requesting` come before each call of the API.
  'system/status': { fact: 18, nothing: 60 },
  // The one that brings nothing is a signature.
  'stream_event/content_block_delta': { delta: 100, nothing: 1 },
  'stream_event/content_block_start': { nothing: 41 },
  'stream_event/content_block_stop': { nothing: 41 },
  'stream_event/message_delta': { nothing: 38 },
  'stream_event/message_start': { nothing: 42 },
  'stream_event/message_stop': { nothing: 42 },
  'system/thinking_tokens': { nothing: 5 },
  command_lifecycle: { nothing: 184 },
  control_response: { nothing: 37 },
  'control_request/can_use_tool': { permission: 83 },
  'control_request/hook_callback': { refusal: 11 },
  'control_request/mcp_message': { refusal: 4 },
  // The one that takes back nothing is about a hook.
  control_cancel_request: { withdrawal: 4, nothing: 1 },
};

test('every recorded line becomes what its kind says, and none is lost', () => {
  const fates: typeof expected = {};
  for (const { json, fate } of lines) {
    const counts = fates[kindOf(json)] ?? {};
    fates[kindOf(json)] = { ...counts, [fate]: (counts[fate] ?? 0) + 1 };
  }
  expect(fates).toEqual(expected);
  expect(all).toHaveLength(162);
  expect(lines).toHaveLength(1_872);
});

test('no line of account data, and no answer of the CLI’s, is in any fact', () => {
  const told = JSON.stringify(lines.map(({ facts }) => facts.map(({ data }) => data)));
  // A token of the recording's own, which `mcp_status` gives away.
  expect(JSON.stringify(lines.map(({ json }) => json))).toContain('Bearer tok123');
  expect(told).not.toContain('Bearer tok123');
  expect(told).not.toContain('available_output_styles');
});

test('the k-th line of a message is its block k', () => {
  let numbered = 0;
  for (const { heard } of all) {
    const seen = new Map<string, number>();
    for (const { json, facts, text } of heard) {
      if (json.type !== 'assistant') continue;
      const { id } = json.message as { id: string };
      const name = `${json.parent_tool_use_id} ${id}`;
      const block = seen.get(name) ?? 0;
      seen.set(name, block + 1);
      expect(facts.find(({ data }) => data === text)).toMatchObject({ message: id, block });
      numbered += 1;
    }
  }
  expect(numbered).toBe(354);
});

/** The recorder cut long strings: then only their beginning can be compared. */
const cut = /…\[\+\d+ chars\]$/;
type Block = { type: string; text?: string; thinking?: string; input?: Input; partial_json?: string };
type Input = { __unparsedToolInput?: { raw: string } };

/** A block's text as live text grows to it. */
function textOf({ type, text, thinking, input, partial_json }: Block): string | undefined {
  if (type === 'text') return text;
  if (type === 'thinking') return thinking;
  // What the model wrote was no JSON.
  return partial_json ?? input?.__unparsedToolInput?.raw ?? JSON.stringify(input);
}

/** Texts of blocks as they grew, with what the block's fact says in the end. */
function blocksOf(heard: readonly Heard[]) {
  const live = new Map<string, string>();
  const complete = new Map<string, string>();
  for (const { deltas, facts } of heard) {
    for (const { message, block, at, text } of deltas) {
      const name = `${message} ${block}`;
      const have = live.get(name) ?? '';
      expect(complete.has(name), `${name} goes on after its fact`).toBe(false);
      expect(at, name).toBe(have.length);
      live.set(name, have + text);
    }
    for (const { type, message, block, data } of facts) {
      if (type !== 'message' || message === undefined) continue;
      const content = (JSON.parse(data).message as { content: Block[] }).content[0];
      complete.set(`${message} ${block}`, (content && textOf(content)) ?? '');
    }
  }
  return [...live].map(([name, text]) => ({ name, text, complete: complete.get(name) }));
}

test('live text grows to exactly the text of the complete message', () => {
  let compared = 0;
  for (const { name, heard } of all) {
    for (const { name: block, text, complete } of blocksOf(heard)) {
      const whole = complete?.replace(cut, '');
      expect(cut.test(complete ?? '') ? text.slice(0, whole?.length) : text, `${name}: ${block}`).toBe(whole);
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(30);
});

test('what nobody has ever seen is a fact, as it stands', () => {
  const strange = [
    { type: 'weather', rain: true },
    { type: 'system', subtype: 'weather', session_id: 's', uuid: 'u' },
    { subtype: 'no type' },
    { type: 7, message: 'x' },
    { type: 'assistant', message: null },
    { type: 'user', message: 'x', extra: { deep: [1] } },
    { type: 'result' },
    { type: 'control_weather', request_id: 'r' },
  ];
  const replay = new Replay();
  for (const json of strange) {
    expect(replay.hear(json as never).fate, JSON.stringify(json)).toBe('fact');
    expect(readLine(json)).toHaveProperty('line');
  }
});
