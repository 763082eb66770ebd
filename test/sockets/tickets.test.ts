import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cookieName, ticketLifeMs } from '../../src/http/tickets.ts';
import { subprotocols, ticketSubprotocol } from '../../src/protocol/subprotocols.ts';
import { GatewayProcess } from '../support/gateway.ts';
import { knock } from './knock.ts';
import { SocketStage } from './stage.ts';

const page = 'https://page.example';
let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = new GatewayProcess({ env: {}, claude: ['/nowhere/claude'], flags: ['--allow-origin', page] });
  await gateway.start();
});
afterAll(() => gateway?.[Symbol.asyncDispose]());

async function post(path: string, { body, ...headers }: Record<string, string> & { body?: string } = {}) {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers,
    ...(body !== undefined && { body }),
  });
  const json = (await response.json()) as { ticket: string };
  return { status: response.status, json, cookie: response.headers.get('set-cookie') };
}

async function newTicket(): Promise<string> {
  const { json } = await post('/v1/tickets', { authorization: `Bearer ${gateway.token}` });
  return json.ticket;
}

const redeem = (ticket: string, more: Record<string, string> = {}) =>
  post('/v1/session', { 'content-type': 'application/json', body: JSON.stringify({ ticket }), ...more });

const withTicket = (ticket: string, url = gateway.url) =>
  knock(url, { protocols: [subprotocols.json, ticketSubprotocol(ticket)] });

const withCookie = (cookie: string, origin?: string) =>
  knock(gateway.url, { headers: { cookie, ...(origin !== undefined && { origin }) } });

const isIn = { welcome: { principal: 'local' } };

describe('a ticket', () => {
  test('is given for a token only: else unauthorized, over HTTP', async () => {
    for (const authorization of ['', 'Bearer wrong', 'Digest x']) {
      const { status, json } = await post('/v1/tickets', { authorization });
      expect({ status, json }).toMatchObject({
        status: 401,
        json: { code: -32000, data: { code: 'unauthorized' }, message: expect.stringContaining('Bearer') },
      });
    }
  });

  test('opens one socket', async () => {
    const ticket = await newTicket();
    expect(await withTicket(ticket)).toMatchObject(isIn);
    expect(await withTicket(ticket)).toMatchObject({ code: 4501 });
  });

  test('is exchanged once for a cookie that scripts and other sites can’t use', async () => {
    const ticket = await newTicket();
    const { status, json, cookie } = await redeem(ticket);
    expect({ status, json }).toMatchObject({ status: 200, json: { principal: 'local' } });
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(gateway.token);
    expect(await redeem(ticket)).toMatchObject({ status: 401, cookie: null });
    expect(await withTicket(ticket)).toMatchObject({ code: 4501 });
  });

  test('has an end, and so has a cookie', async () => {
    let now = 1;
    await using stage = await SocketStage.open({ now: () => now });
    const principal = { name: 'local', owner: 'local', scopes: [] };
    const { ticket, expiresAt } = stage.tickets.issue(principal);
    const cookie = String(stage.tickets.cookieFor(principal).split(';')[0]);
    expect(expiresAt).toBe(1 + ticketLifeMs);
    now = expiresAt;
    expect(await withTicket(ticket, stage.url)).toMatchObject({ code: 4501 });
    expect(await knock(stage.url, { headers: { cookie } })).toMatchObject(isIn);
    now += 31 * 24 * 3_600_000;
    expect(await knock(stage.url, { headers: { cookie } })).toMatchObject({ code: 4501 });
  });

  test('is not taken in a malformed body', async () => {
    for (const body of ['', '{', '[]', '{"ticket":7}', '{"ticket":"x","more":1}']) {
      expect(await post('/v1/session', { 'content-type': 'application/json', body })).toMatchObject({
        status: 401,
        cookie: null,
      });
    }
  });
});

describe('the cookie', () => {
  let cookie: string;
  beforeAll(async () => {
    cookie = String((await redeem(await newTicket())).cookie?.split(';')[0]);
  });

  test('counts with our own origin only, though another page may connect', async () => {
    expect(await withCookie(cookie)).toMatchObject(isIn);
    expect(await withCookie(cookie, gateway.url)).toMatchObject(isIn);
    expect(await withCookie(cookie, page)).toMatchObject({ code: 4501 });
    expect(await withCookie(cookie, 'https://evil.example')).toEqual({ status: 403 });
  });

  test('may stand among others, and is worth nothing when anything of it is changed', async () => {
    expect(await withCookie(`a=b; ${cookie}; c=d`)).toMatchObject(isIn);
    const [claim = '', signature = ''] = cookie.slice(cookieName.length + 1).split('.');
    const other = Buffer.from(JSON.stringify({ name: 'local', until: 1e15 })).toString('base64url');
    const forged = [`${claim}.`, `${claim}.${signature.slice(1)}`, `${other}.${signature}`, claim, '.', ''];
    for (const value of forged) {
      expect(await withCookie(`${cookieName}=${value}`)).toMatchObject({ code: 4501 });
    }
  });

  test('outlives the gateway', async () => {
    await gateway.kill();
    await gateway.start();
    expect(await withCookie(cookie, gateway.url)).toMatchObject(isIn);
  });
});
