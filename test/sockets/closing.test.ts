import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type CloseCodeNumber, closeCodes } from '../../src/protocol/close-codes.ts';
import type { Encoding } from '../../src/protocol/codec.ts';
import { limits, maxMalformedFrames } from '../../src/protocol/limits.ts';
import { TestClient } from '../support/client.ts';
import { GatewayProcess } from '../support/gateway.ts';
import { SocketStage } from './stage.ts';

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = new GatewayProcess({ env: {}, claude: ['/nowhere/claude'] });
  await gateway.start();
});
afterAll(() => gateway?.[Symbol.asyncDispose]());

const connect = (encoding?: Encoding) => TestClient.connect(gateway.url, gateway.token, encoding);

async function closed(client: TestClient): Promise<typeof client.closed> {
  await client.until(() => false).catch(() => {});
  return client.closed;
}

const told = (code: CloseCodeNumber) => ({ code, reason: closeCodes[code].reason });

test('what came behind the frame that closed the connection is not carried out', async () => {
  const client = await connect();
  client.socket.send(Buffer.from([1]), { binary: true });
  const params = { prompt: 'Hello', cwd: gateway.work };
  client.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'task.start', params }));
  expect((await closed(client))?.code).toBe(4502);
  const other = await connect();
  expect(await other.call('agent.list', {})).toEqual({ agents: [] });
  await other.close();
});

describe('1009: a frame over the limit', () => {
  /** A call in a frame of exactly so many bytes. */
  const frame = (bytes: number) => {
    const [head, tail] = ['{"jsonrpc":"2.0","id":"big","method":"ping"', '}'];
    return head + ' '.repeat(bytes - head.length - tail.length) + tail;
  };

  test('closes the connection; one of the limit itself is answered', async () => {
    const client = await connect();
    client.socket.send(frame(limits.maxFrameBytes));
    await client.until(() => client.frames.some((one) => one.toString().includes('"id":"big"')));
    client.socket.send(frame(limits.maxFrameBytes + 1));
    expect((await closed(client))?.code).toBe(1009);
    const other = await connect();
    expect(await other.call('ping', {})).toHaveProperty('at');
    await other.close();
  });

  test('also when it comes in pieces', async () => {
    const client = await connect();
    const piece = Buffer.alloc(limits.maxFrameBytes / 2 + 1, ' ');
    client.socket.send(piece, { binary: false, fin: false });
    client.socket.send(piece, { binary: false, fin: true });
    expect((await closed(client))?.code).toBe(1009);
  });
});

describe('4502: what is no message of the protocol', () => {
  test.each([
    ['binary', 'json', Buffer.from('{}')],
    ['text', 'msgpack', '{}'],
  ] as const)('a %s frame on a connection in %s', async (_, encoding, frame) => {
    const client = await connect(encoding);
    client.socket.send(frame);
    expect(await closed(client)).toEqual(told(4502));
  });

  test.each(['json', 'msgpack'] as const)(
    'too many frames of rubbish in %s; each before is answered',
    async (encoding) => {
      const client = await connect(encoding);
      await client.welcome();
      const rubbish = encoding === 'json' ? '{' : Buffer.from([0xc1]);
      for (let n = 0; n < maxMalformedFrames; n += 1) client.socket.send(rubbish);
      await client.until(() => client.frames.length === 1 + maxMalformedFrames);
      expect(await client.call('ping', {})).toHaveProperty('at');
      client.socket.send(rubbish);
      expect(await closed(client)).toEqual(told(4502));
    },
  );
});

test('a notification of a client’s is passed over', async () => {
  const client = await connect();
  client.socket.send('{"jsonrpc":"2.0","method":"task.cancel","params":{"agent":"x"}}');
  expect(await client.call('ping', {})).toHaveProperty('at');
  expect(client.frames).toHaveLength(2);
  await client.close();
});

/** Tells of heartbeats, and of the code it is closed with. */
const elsewhere = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { WebSocket } = require('ws');
  const { url, token } = workerData;
  const socket = new WebSocket(url, { headers: { authorization: 'Bearer ' + token } });
  socket.on('message', (data) => String(data).includes('heartbeat') && parentPort.postMessage('heartbeat'));
  socket.on('close', (code) => parentPort.postMessage(code));
`;

describe('4001: a ping that goes unanswered', () => {
  const times = { heartbeatMs: 60, pongMs: 60 };

  /** A socket that answers no ping. */
  async function deaf(stage: SocketStage): Promise<WebSocket> {
    const url = `${stage.url.replace('http', 'ws')}/v1/ws`;
    const headers = { authorization: `Bearer ${stage.tokens.token}` };
    const socket = new WebSocket(url, { headers, autoPong: false });
    await once(socket, 'open');
    return socket;
  }

  test('closes the connection', async () => {
    await using stage = await SocketStage.open(times);
    const [code, reason] = await once(await deaf(stage), 'close');
    expect({ code, reason: reason.toString() }).toEqual(told(4001));
  });

  test('does not count when anything else comes', async () => {
    await using stage = await SocketStage.open(times);
    const socket = await deaf(stage);
    let beats = 0;
    socket.on('message', (data) => {
      if (!data.toString().includes('heartbeat')) return;
      beats += 1;
      socket.ping();
    });
    await new Promise<void>((resolve) => socket.on('ping', () => beats >= 6 && resolve()));
    expect(socket.readyState).toBe(WebSocket.OPEN);
    // And once nothing comes any more it counts.
    socket.removeAllListeners('message');
    expect((await once(socket, 'close'))[0]).toBe(4001);
  });

  test('does not count while the gateway itself was held up', async () => {
    await using stage = await SocketStage.open(times);
    // A thread of its own answers pings while this one can't read them.
    const client = new Worker(elsewhere, {
      eval: true,
      workerData: { url: `${stage.url.replace('http', 'ws')}/v1/ws`, token: stage.tokens.token },
    });
    for (let beats = 0; beats < 5; beats += 1) {
      expect(await once(client, 'message')).toEqual(['heartbeat']);
      const until = performance.now() + 3 * times.pongMs;
      while (performance.now() < until);
    }
    await client.terminate();
  });

  test('ends a peer that is gone without a word: its place is free a moment later', async () => {
    await using stage = await SocketStage.open(times);
    const socket = await deaf(stage);
    // It reads nothing and says nothing, not even to the close.
    socket.pause();
    const [peer] = stage.peers;
    await once(peer as NonNullable<typeof peer>, 'close');
    socket.terminate();
  });
});

test('a heartbeat comes at every interval and says up to where one has everything', async () => {
  await using stage = await SocketStage.open({ heartbeatMs: 40 });
  const client = await stage.connect();
  const through = () => client.notifications.filter(({ method }) => method === 'heartbeat').at(-1)?.params;
  await client.until(through);
  await client.call('tree.subscribe', { tree: 'a', after: 'start' });
  for (let n = 0; n < 5; n += 1) await stage.write();
  const { head } = stage.feeds.journal;
  await client.until(() => through()?.through === head);
  expect(client.facts.at(-1)?.seq).toBe(head);
});

test('1001: SIGTERM says goodbye to everybody, in both encodings, and lets the process end', async () => {
  const clients = [await connect(), await connect('msgpack')];
  await gateway.kill('SIGTERM');
  for (const client of clients) {
    expect(await closed(client)).toEqual(told(1001));
    expect(client.notifications.at(-1)).toMatchObject({
      method: 'goodbye',
      params: { reason: closeCodes[1001].reason, reconnect: true },
    });
  }
  expect(gateway.diedBy).toBeNull();
});
