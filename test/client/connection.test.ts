import { expect, test } from 'vitest';
import { comesBack } from '../../client/connection.ts';
import { ClosedError, connect, RefusedError, UnreachableError } from '../../client/index.ts';
import { closeCodes, comesBack as comesBackByTheTable } from '../../src/protocol/close-codes.ts';
import { ScriptedGateway } from './scripted-gateway.ts';
import { SteppedClock, watchStates } from './steps.ts';

test('the token travels as a subprotocol, and the first welcome is what connect waits for', async () => {
  await using gateway = await ScriptedGateway.open();
  const client = await gateway.connect({ token: 'Zoë/+=' });
  expect(gateway.tokens).toEqual(['Zoë/+=']);
  expect(client.state).toMatchObject({ is: 'open', welcome: { server: 'scripted', epoch: 'e1' } });
});

test('the pauses grow with full jitter, one attempt at a time, and begin anew after a steady connection', async () => {
  await using gateway = await ScriptedGateway.open();
  const clock = new SteppedClock(0.5);
  const watch = watchStates();
  await gateway.connect({ clock, onState: watch.onState });
  const pauses: number[] = [];
  gateway.greet = () => gateway.cut();
  clock.step(1_000);
  gateway.cut();
  for (let round = 1; round <= 8; round += 1) {
    const { delayMs } = await watch.last('waiting');
    pauses.push(delayMs);
    expect(clock.pending).toEqual([delayMs]);
    if (round === 8) gateway.greet = undefined;
    clock.step(delayMs - 1);
    expect(gateway.connections).toBe(round);
    clock.step(1);
    if (round < 8) await gateway.until(() => gateway.connections === round + 1);
  }
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 7_500, 7_500, 7_500]);

  await watch.last('open');
  clock.step(10_000);
  gateway.cut();
  expect(await watch.last('waiting')).toMatchObject({ attempt: 1, delayMs: 125, closeCode: 1006 });
});

test('each close code of the protocol is a decision: come back, or stop with RefusedError', async () => {
  await using gateway = await ScriptedGateway.open();
  for (const [number, { reason }] of Object.entries(closeCodes)) {
    const code = Number(number);
    const watch = watchStates();
    const client = await gateway.connect({ clock: new SteppedClock(), onState: watch.onState });
    gateway.close(code, reason);
    if (comesBackByTheTable(code)) {
      expect(await watch.last('waiting')).toMatchObject({ closeCode: code });
      client.close();
    } else {
      const { error } = await watch.last('closed');
      expect(error).toBeInstanceOf(RefusedError);
      expect(error).toMatchObject({
        kind: 'refused',
        closeCode: code,
        message: expect.stringContaining(reason),
      });
      await expect(client.call('ping', {})).rejects.toBe(error);
    }
  }
  for (let code = 1000; code < 5000; code += 1)
    expect([code, comesBack(code)]).toEqual([code, comesBackByTheTable(code)]);
});

test('a wrong token (4501) is refused at once, and nothing is tried again', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.greet = () => gateway.close(4501, closeCodes[4501].reason);
  const clock = new SteppedClock();
  await expect(gateway.connect({ clock })).rejects.toMatchObject({ kind: 'refused', closeCode: 4501 });
  expect(clock.pending).toEqual([]);
  expect(gateway.connections).toBe(1);
});

test('where no gateway answers, connect fails with UnreachableError', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.greet = () => gateway.sendRaw('<html>');
  await expect(gateway.connect()).rejects.toMatchObject({ kind: 'unreachable', closeCode: 1007 });
  gateway.greet = () => {};
  const clock = new SteppedClock();
  const silent = connect(gateway.url, { clock });
  await gateway.until(() => gateway.connections === 2);
  clock.step(15_000);
  await expect(silent).rejects.toBeInstanceOf(UnreachableError);
  await expect(connect('http://127.0.0.1:1')).rejects.toBeInstanceOf(UnreachableError);
});

test('two heartbeats of silence mean that the connection is dead; any frame is life', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.welcome = { heartbeatMs: 1_000 };
  const clock = new SteppedClock();
  const watch = watchStates();
  const client = await gateway.connect({ clock, onState: watch.onState });
  clock.step(1_900);
  await client.call('ping', {});
  clock.step(1_900);
  expect(client.state.is).toBe('open');
  clock.step(100);
  expect(await watch.last('waiting')).toMatchObject({ closeCode: 1006 });
});

test('close and an aborted signal end it for good, in whatever state, and leave no timer', async () => {
  await using gateway = await ScriptedGateway.open();
  const clock = new SteppedClock();
  const life = new AbortController();
  const watch = watchStates();
  const client = await gateway.connect({ clock, signal: life.signal, onState: watch.onState });
  gateway.cut();
  await watch.last('waiting');
  life.abort('enough');
  expect(client.state).toMatchObject({ is: 'closed', error: { kind: 'closed', cause: 'enough' } });
  expect(clock.pending).toEqual([]);
  await expect(client.call('ping', {})).rejects.toBeInstanceOf(ClosedError);
  await expect(client.subscribe('t').next()).rejects.toBeInstanceOf(ClosedError);
  await expect(connect(gateway.url, { signal: life.signal })).rejects.toBeInstanceOf(ClosedError);

  using other = await gateway.connect({ clock });
  other.close();
  expect(other.state).toMatchObject({ is: 'closed', error: { kind: 'closed' } });
  expect(clock.pending).toEqual([]);
});
