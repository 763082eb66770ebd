import { once } from 'node:events';
import { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } from 'json-rpc-2.0';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { asks, play, result, says } from '../support/fake-acts.ts';
import { fakeClaude } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';

// A client that knows JSON-RPC 2.0 and nothing of us: what it can't do, the protocol does wrong.
let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open({ claude: fakeClaude });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

type Event = { seq?: number; type: string; data: Record<string, unknown> };

test('a JSON-RPC library drives a task from its start to its end', async () => {
  const { url, token, work } = stage.gateway;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/ws`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const rpc = new JSONRPCServerAndClient(
    new JSONRPCServer(),
    new JSONRPCClient((request) => socket.send(JSON.stringify(request))),
  );
  const events: Event[] = [];
  const ended = Promise.withResolvers<Event>();
  rpc.addMethod('welcome', (params) => welcomed.resolve(params));
  const welcomed = Promise.withResolvers<unknown>();
  rpc.addMethod('events', async (params: { events: Event[] }) => {
    events.push(...params.events);
    for (const event of params.events) {
      const { type, data } = event;
      if (type === 'permission.requested') {
        await rpc.request('permission.answer', { permission: data.permission, behavior: 'allow' });
      }
      if (type === 'agent.state' && data.state === 'completed') ended.resolve(event);
    }
  });
  socket.on('message', (data) => void rpc.receiveAndSend(JSON.parse(data.toString())));
  await once(socket, 'open');
  expect(await welcomed.promise).toMatchObject({ server: 'spawngate' });

  const acts = [
    { lines: [asks('ask', 'Bash', { command: 'ls' })] },
    { until: { answerTo: 'ask' } },
    { lines: [says('Done.'), result({ result: 'Done.' })] },
  ];
  const { agent } = await rpc.request('task.start', { prompt: play(acts), cwd: work, subscribe: true });
  await ended.promise;
  expect(await rpc.request('agent.result', { agent })).toMatchObject({ state: 'completed', text: 'Done.' });
  const seqs = events.flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
  expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
  expect(events.map(({ type }) => type)).toContain('permission.resolved');

  // Errors arrive as its own, with number, words and data.
  await expect(rpc.request('task.send', { agent, content: 'x' })).rejects.toMatchObject({
    code: -32000,
    message: expect.stringContaining('task.resume'),
    data: { code: 'not_running', state: 'completed' },
  });
  await expect(rpc.request('task.explode', {})).rejects.toMatchObject({ code: -32601 });
  // By position is allowed by JSON-RPC, but not by us.
  await expect(rpc.request('ping', [])).rejects.toMatchObject({ code: -32600, data: { code: 'invalid' } });
  // No parameters at all.
  expect(await rpc.request('ping', undefined)).toHaveProperty('at');
  socket.terminate();
});
