import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { GatewayProcess } from '../support/gateway.ts';

/** With this in its environment the gateway lets its heap be measured. */
export const measurable = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

/** Bytes that are alive in a gateway after a collection of garbage: its heap, and the buffers beside it. */
export async function liveBytes({ log }: GatewayProcess): Promise<number> {
  const [, address = ''] = /Debugger listening on (ws:\S+)/.exec(log) ?? [];
  const socket = new WebSocket(address);
  await once(socket, 'open');
  const call = async (method: string): Promise<Record<string, number>> => {
    socket.send(JSON.stringify({ id: 1, method }));
    const [answer] = await once(socket, 'message');
    return JSON.parse(answer).result;
  };
  // Twice, as what was waiting for a finalizer goes with the second.
  for (let n = 0; n < 2; n += 1) await call('HeapProfiler.collectGarbage');
  const { usedSize = 0, backingStorageSize = 0 } = await call('Runtime.getHeapUsage');
  socket.terminate();
  return usedSize + backingStorageSize;
}
