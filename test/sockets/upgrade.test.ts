import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeCodes } from '../../src/protocol/close-codes.ts';
import { welcomeSchema } from '../../src/protocol/notifications.ts';
import { bearerSubprotocol, subprotocols, ticketSubprotocol } from '../../src/protocol/subprotocols.ts';
import { GatewayProcess } from '../support/gateway.ts';
import { type Knock, knock } from './knock.ts';

// No CLI is needed to be let in, or not.
const page = 'https://page.example';
let gateway: GatewayProcess;
let bearer: { authorization: string };
let port: string;
beforeAll(async () => {
  gateway = new GatewayProcess({ env: {}, claude: ['/nowhere/claude'], flags: ['--allow-origin', page] });
  await gateway.start();
  bearer = { authorization: `Bearer ${gateway.token}` };
  ({ port } = new URL(gateway.url));
});
afterAll(() => gateway?.[Symbol.asyncDispose]());

const ask = (how: Knock) => knock(gateway.url, how);
const letIn = { welcome: expect.objectContaining({ server: 'spawngate' }) };
const closed = (code: keyof typeof closeCodes) => ({ code, reason: closeCodes[code].reason });

describe('an upgrade is refused', () => {
  test.each([
    'https://evil.example',
    'null',
    'http://127.0.0.1:1',
    'http://127.0.0.1:PORT1',
    'http://127.0.0.1:PORT.evil.example',
    'http://127.0.0.1.evil.example:PORT',
    'https://127.0.0.1:PORT',
    'https://page.example.evil.example',
    'http://page.example',
    'file://',
  ])('with 403 from the origin %s, whoever asks', async (origin) => {
    const headers = { ...bearer, origin: origin.replace('PORT', port) };
    expect(await ask({ headers })).toEqual({ status: 403 });
  });

  test.each(['evil.example:PORT', 'evil.example', '127.0.0.1', '127.0.0.1:1', 'localhost.evil.example:PORT'])(
    'with 403 under the host %s (DNS rebinding)',
    async (host) => {
      const headers = { ...bearer, host: host.replace('PORT', port) };
      expect(await ask({ headers })).toEqual({ status: 403 });
      const page = await fetch(`${gateway.url}/healthz`);
      expect(page.status).toBe(200);
    },
  );

  test('with 401 for a wrong token in the header, and for none at all', async () => {
    expect(await ask({ headers: { authorization: 'Bearer wrong' } })).toEqual({ status: 401 });
    expect(await ask({ headers: { authorization: gateway.token } })).toEqual({ status: 401 });
    expect(await ask({})).toEqual({ status: 401 });
  });

  test('with 401 for a token in the address', async () => {
    for (const name of ['token', 'access_token', 'bearer']) {
      expect(await ask({ path: `/v1/ws?${name}=${gateway.token}` })).toEqual({ status: 401 });
    }
  });

  test('with 404 at another path, though an ordinary request is answered there', async () => {
    for (const path of ['/', '/v1', '/v1/ws/', '/healthz']) {
      expect(await ask({ path, headers: bearer })).toEqual({ status: 404 });
    }
  });

  test('with 400 for a list of secrets only', async () => {
    const protocols = [bearerSubprotocol(gateway.token)];
    expect(await ask({ protocols })).toEqual({ status: 400 });
  });
});

describe('a refusal says in a line what was wrong', () => {
  test.each([
    ['/v1', {}, 404, '/v1/ws'],
    ['/v1/ws', { host: 'evil.example' }, 403, 'Host'],
    ['/v1/ws', { origin: 'https://evil.example' }, 403, 'Origin'],
    ['/v1/ws', {}, 401, 'token'],
    ['/v1/ws', { 'sec-websocket-protocol': bearerSubprotocol('x') }, 400, subprotocols.json],
  ])('%s with %j: %i', async (path, headers, status, words) => {
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', ...headers };
    const asked = get(`${gateway.url}${path}`, { headers: upgrade });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(status);
    const body = await text(response);
    expect(body).toContain(words);
    expect(body).toMatch(/^[ -~]+\n$/);
  });

  test('and 426 is what a plain GET gets', async () => {
    const response = await fetch(`${gateway.url}/v1/ws`);
    expect([response.status, response.headers.get('upgrade')]).toEqual([426, 'websocket']);
  });
});

describe('an upgrade is let in', () => {
  test.each(['http://127.0.0.1:PORT', 'http://localhost:PORT', page, page.toUpperCase()])(
    'from the origin %s',
    async (origin) => {
      const headers = { ...bearer, origin: origin.replace('PORT', port) };
      expect(await ask({ headers })).toEqual({ protocol: '', ...letIn });
    },
  );

  test('by a bearer among the subprotocols, which is not echoed', async () => {
    const secret = bearerSubprotocol(gateway.token);
    for (const protocols of [
      [secret, subprotocols.json],
      [subprotocols.json, secret],
    ]) {
      expect(await ask({ protocols })).toEqual({ protocol: subprotocols.json, ...letIn });
    }
  });

  test('without a subprotocol, as JSON; of two encodings the first offered counts', async () => {
    expect(await ask({ headers: bearer })).toEqual({ protocol: '', ...letIn });
    const protocols = [subprotocols.json, subprotocols.msgpack];
    expect(await ask({ headers: bearer, protocols })).toEqual({ protocol: subprotocols.json, ...letIn });
  });

  test('and told all that it has to know in `welcome`', async () => {
    const answer = await ask({ headers: bearer });
    const welcome = 'welcome' in answer ? answer.welcome : {};
    expect(welcomeSchema.parse(welcome)).toEqual(welcome);
    expect(welcome).toEqual({
      server: 'spawngate',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      epoch: expect.stringMatching(/./),
      head: expect.any(Number),
      principal: 'local',
      scopes: ['read', 'start', 'answer', 'admin'],
      heartbeatMs: 25_000,
      claude: { version: null },
      limits: {
        maxFrameBytes: 16_777_216,
        maxEventBytes: 262_144,
        maxOpenCalls: 64,
        maxSubscriptions: 256,
        maxConnections: 1_000,
        maxCallsPerSecond: 500,
      },
    });
  });
});

describe('a browser, which sees no status, is closed', () => {
  test('with 4501 after a wrong token, ticket or cookie', async () => {
    const { json } = subprotocols;
    const bad: Knock[] = [
      { protocols: [json, bearerSubprotocol('wrong')] },
      { protocols: [json, 'spawngate.bearer.%%%'] },
      { protocols: [json, ticketSubprotocol('wrong')] },
      { protocols: [json] },
      { headers: { cookie: 'spawngate=x.y' } },
      { headers: { cookie: 'other=1' } },
    ];
    for (const how of bad) expect(await ask(how)).toMatchObject(closed(4501));
  });

  test('with 4504 where it offers no encoding that we speak', async () => {
    const protocols = ['graphql-transport-ws', bearerSubprotocol(gateway.token)];
    expect(await ask({ protocols })).toEqual({ protocol: 'graphql-transport-ws', ...closed(4504) });
  });
});
