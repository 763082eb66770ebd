import { expect, test } from 'vitest';
import {
  OverflowError,
  RequestError,
  TimeoutError,
  TooLargeError,
  UnknownOutcomeError,
} from '../../client/index.ts';
import { errorCodes } from '../../src/protocol/errors.ts';
import { type MethodName, methods } from '../../src/protocol/methods.ts';
import { ScriptedGateway } from './scripted-gateway.ts';
import { eagerClock, SteppedClock, watchStates } from './steps.ts';

const silent = () => undefined;
test('each error code of the wire is a RequestError with its code and figures; the connection lives', async () => {
  await using gateway = await ScriptedGateway.open();
  const client = await gateway.connect();
  for (const [code, { number, transient }] of Object.entries(errorCodes)) {
    const data = { code: code as keyof typeof errorCodes, limit: 7, ...(transient && { retryable: true }) };
    gateway.answer = () => ({ error: { code: number, message: `do this about ${code}`, data } });
    const error = await client.call('ping', {}).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({
      kind: 'request',
      code,
      data,
      retryable: transient,
      message: `do this about ${code}`,
    });
  }
  expect(client.state.is).toBe('open');
});

test('every method that changes something gets a key, and no other does; one that is given is kept', async () => {
  await using gateway = await ScriptedGateway.open();
  const client = await gateway.connect();
  for (const method of Object.keys(methods) as MethodName[]) {
    await client.call(method, {} as never);
    expect([method, gateway.asked.at(-1)?.params]).toEqual([
      method,
      methods[method].mutates ? { key: expect.stringMatching(/^[0-9a-f]{32}$/) } : {},
    ]);
  }
  await client.call('task.close', { agent: 'a', key: 'mine' });
  expect(gateway.asked.at(-1)?.params).toEqual({ agent: 'a', key: 'mine' });
  expect(new Set(gateway.asked.map(({ params }) => params.key)).size).toBe(10);
});

test('after a cut, calls with a key are sent again just as they were, others fail as unknown', async () => {
  await using gateway = await ScriptedGateway.open();
  const client = await gateway.connect({ clock: eagerClock });
  gateway.answer = silent;
  const params = { agent: 'a', content: 'one' };
  const sent = client.call('task.send', params);
  params.content = 'changed since';
  const read = client.call('agent.get', { agent: 'a' });
  const repeated = client.call('agent.result', { agent: 'a' }, { repeat: true });
  await gateway.request('agent.result');
  gateway.answer = ({ method }) => ({ result: { of: method } });
  gateway.cut();
  await expect(read).rejects.toMatchObject({ kind: 'unknown_outcome', method: 'agent.get' });
  expect(await sent).toEqual({ of: 'task.send' });
  expect(await repeated).toEqual({ of: 'agent.result' });
  expect((await gateway.request('task.send', 2)).params).toEqual(
    (await gateway.request('task.send', 1)).params,
  );
  expect(gateway.asked.map(({ method }) => method)).toEqual([
    ...['task.send', 'agent.get', 'agent.result'],
    ...['task.send', 'agent.result'],
  ]);
});

test('calls made while there is no connection wait for the next one', async () => {
  await using gateway = await ScriptedGateway.open();
  const clock = new SteppedClock();
  const watch = watchStates();
  const client = await gateway.connect({ clock, onState: watch.onState });
  gateway.cut();
  const { delayMs } = await watch.last('waiting');
  const call = client.call('ping', {});
  clock.step(delayMs);
  expect(await call).toEqual({});
});

test('when it ends for good, a call on its way is unknown, one that was never sent is not', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.welcome = {
    limits: { maxFrameBytes: 1_000, maxEventBytes: 1, maxOpenCalls: 1, maxSubscriptions: 1 },
  };
  const client = await gateway.connect();
  gateway.answer = silent;
  const sent = client.call('task.close', { agent: 'a' });
  const waiting = client.call('task.close', { agent: 'b' });
  await gateway.request('task.close');
  gateway.close(4501, 'revoked');
  const error = await sent.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UnknownOutcomeError);
  expect(error).toMatchObject({ method: 'task.close', cause: { kind: 'refused', closeCode: 4501 } });
  await expect(waiting).rejects.toMatchObject({ kind: 'refused' });
});

test('no more calls are on their way than the gateway takes; over 1,000 waiting ones a call fails at once', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.welcome = {
    limits: { maxFrameBytes: 1_000, maxEventBytes: 1, maxOpenCalls: 2, maxSubscriptions: 1 },
  };
  const client = await gateway.connect();
  gateway.answer = silent;
  const calls = Array.from({ length: 1_002 }, () => client.call('ping', {}));
  await expect(client.call('ping', {})).rejects.toBeInstanceOf(OverflowError);
  await gateway.request('ping', 2);
  expect(gateway.asked).toHaveLength(2);
  gateway.answer = () => ({ result: { at: 1 } });
  for (const { id } of [...gateway.asked]) gateway.send({ id, result: { at: 1 } });
  expect(await Promise.all(calls)).toHaveLength(1_002);
});

test('a call over the frame limit is not sent', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.welcome = {
    limits: { maxFrameBytes: 200, maxEventBytes: 1, maxOpenCalls: 2, maxSubscriptions: 1 },
  };
  const client = await gateway.connect();
  const error = await client
    .call('task.send', { agent: 'a', content: 'é'.repeat(80) })
    .catch((thrown) => thrown);
  expect(error).toBeInstanceOf(TooLargeError);
  expect(error).toMatchObject({ kind: 'too_large', limit: 200 });
  expect(error.size).toBeGreaterThan(200);
  expect(gateway.asked).toEqual([]);
});

test('after 1009 the largest call fails, and the others are sent again', async () => {
  await using gateway = await ScriptedGateway.open();
  const client = await gateway.connect({ clock: eagerClock });
  gateway.answer = silent;
  const large = client.call('task.send', { agent: 'a', content: 'x'.repeat(500) });
  const small = client.call('task.send', { agent: 'a', content: 'x' });
  await gateway.request('task.send', 2);
  gateway.answer = () => ({ result: {} });
  gateway.close(1009);
  await expect(large).rejects.toMatchObject({ kind: 'unknown_outcome' });
  await small;
  expect(gateway.asked).toHaveLength(3);
});

test('a call is given up after timeoutMs, or by its signal, and says whether it was sent', async () => {
  await using gateway = await ScriptedGateway.open();
  gateway.welcome = {
    limits: { maxFrameBytes: 1_000, maxEventBytes: 1, maxOpenCalls: 1, maxSubscriptions: 1 },
  };
  const clock = new SteppedClock();
  const client = await gateway.connect({ clock });
  gateway.answer = silent;
  const life = new AbortController();
  const sent = client.call('ping', {}, { timeoutMs: 100 });
  const waiting = client.call('ping', {}, { timeoutMs: 100 });
  const aborted = client.call('ping', {}, { signal: life.signal });
  await gateway.request('ping');
  clock.step(100);
  life.abort(new Error('no more'));
  const error = await sent.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error).toMatchObject({ kind: 'timeout', method: 'ping', sent: true });
  await expect(waiting).rejects.toMatchObject({ kind: 'timeout', sent: false });
  await expect(aborted).rejects.toThrow('no more');
  await expect(client.call('ping', {}, { signal: life.signal })).rejects.toThrow('no more');

  // The late answer of the first makes room for the next, and is nobody's.
  const next = client.call('ping', {});
  expect(gateway.asked).toHaveLength(1);
  gateway.answer = () => ({ result: { at: 2 } });
  gateway.send({ id: gateway.asked[0]?.id, result: { at: 1 } });
  expect(await next).toEqual({ at: 2 });
});
