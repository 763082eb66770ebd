import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { SocketStage } from './stage.ts';

const kilobytes = 50;
/** What a feed may hand to a full connection: its mark, and one page or frame over it. */
const bound = (256 + 64 + 2 * kilobytes) * 1024;

/** A stage with a client that reads nothing, and one that reads on. */
async function stalled(times: { stalledMs?: number } = {}) {
  const stage = await SocketStage.open(times);
  const slow = await stage.connect();
  const quick = await stage.connect();
  for (const client of [slow, quick]) await client.call('tree.subscribe', { tree: 'a', after: 'start' });
  slow.socket.pause();
  return { stage, slow, quick, peer: stage.peers[0] as Socket };
}

/** So many facts, with a turn of the event loop after each. */
async function writeMuch(stage: SocketStage, facts: number, look: () => void = () => {}): Promise<void> {
  for (let n = 0; n < facts; n += 1) {
    await stage.write(kilobytes * 1024);
    look();
    await turn();
  }
}

test('a socket that stalls slows nobody and holds no memory, and catches up without a hole', async () => {
  const { stage, slow, quick, peer } = await stalled();
  await using _ = stage;
  let most = 0;
  await writeMuch(stage, 400, () => {
    most = Math.max(most, peer.writableLength);
  });
  const { head } = stage.feeds.journal;
  await quick.until(() => quick.facts.at(-1)?.seq === head);
  // 20 MB went by.
  expect(most).toBeGreaterThan(64 * 1024);
  expect(most).toBeLessThan(bound);
  expect(slow.facts.length).toBeLessThan(head / 2);
  slow.socket.resume();
  await slow.until(() => slow.facts.at(-1)?.seq === head);
  expect(slow.facts.map(({ seq }) => seq)).toEqual(Array.from({ length: head }, (_, i) => i + 1));
  expect(slow.facts).toEqual(quick.facts);
  expect(peer.writableLength).toBeLessThan(bound);
  console.info(`at most ${most} bytes waited for the stalled socket`);
});

test('a socket that takes nothing for too long is cut; one that waits for nothing is not', async () => {
  const { stage, quick, peer } = await stalled({ stalledMs: 300 });
  await using _ = stage;
  const idle = await stage.connect();
  idle.socket.pause();
  const cut = once(peer, 'close');
  await writeMuch(stage, 400);
  await cut;
  expect(await quick.call('ping', {})).toHaveProperty('at');
  idle.socket.resume();
  expect(await idle.call('ping', {})).toHaveProperty('at');
});

test('a socket that reads a backlog slowly is not taken for dead, though it has not come to the pings yet', async () => {
  await using stage = await SocketStage.open({ heartbeatMs: 50, pongMs: 800 });
  await writeMuch(stage, 800);
  const headers = { authorization: `Bearer ${stage.tokens.token}` };
  // It never answers one, so reading is all that speaks for it.
  const socket = new WebSocket(`${stage.url.replace('http', 'ws')}/v1/ws`, { headers, autoPong: false });
  await once(socket, 'open');
  const params = { tree: 'a', after: 'start' };
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tree.subscribe', params }));
  socket.on('message', () => {
    socket.pause();
    setTimeout(() => socket.resume(), 2);
  });
  await once(socket, 'close');
  // Not before all was given out, which took longer than a pong may take.
  expect(stage.peers[0]?.bytesWritten).toBeGreaterThan(800 * kilobytes * 1024);
});
