import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bearerSubprotocol, subprotocols, ticketSubprotocol } from '../../src/protocol/subprotocols.ts';
import { play, result, says } from '../support/fake-acts.ts';
import { fakeClaude } from '../support/fake-task.ts';
import { Stage } from '../support/stage.ts';
import { knock } from './knock.ts';

/** All that the gateway has written, but the file that is there to hold the token. */
function writtenBy({ gateway }: Stage): string {
  const names = readdirSync(gateway.dataDir, { recursive: true, encoding: 'utf8' });
  const files = names.map((name) => join(gateway.dataDir, name)).filter((file) => statSync(file).isFile());
  const texts = files.filter((file) => !file.endsWith('/token')).map((file) => readFileSync(file, 'latin1'));
  return [gateway.log, ...texts].join('\n');
}

test('no secret is in any log, whatever the level; a prompt and a tool’s input are in none at the default one', async () => {
  for (const level of ['trace', 'info']) {
    await using stage = await Stage.open({ claude: fakeClaude, flags: ['--log-level', level] });
    const { gateway } = stage;
    const { url, token } = gateway;
    const authorization = `Bearer ${token}`;
    const { ticket } = (await (
      await fetch(`${url}/v1/tickets`, { method: 'POST', headers: { authorization } })
    ).json()) as { ticket: string };
    const session = await fetch(`${url}/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ticket }),
    });
    const cookie = String(session.headers.get('set-cookie')?.split(';')[0]);
    const secrets = [bearerSubprotocol(token), ticketSubprotocol(ticket)];
    // In every way, right and wrong.
    for (const secret of secrets) await knock(url, { protocols: [subprotocols.json, secret] });
    await knock(url, { protocols: [secrets[0] as string] });
    await knock(url, { headers: { cookie } });
    await knock(url, { headers: { authorization: `Basic ${btoa(`x:${token}`)}` } });
    await knock(url, { path: `/v1/ws?token=${token}` });
    await knock(url, { headers: { authorization, origin: 'null' } });
    await knock(url, { headers: { authorization: `Bearer ${token}x` } });
    const client = await stage.connect();
    const { agent } = await client.call('task.start', {
      cwd: gateway.work,
      prompt: play([{ lines: [says('Words of the agent.'), result()] }], 'Words of the prompt.'),
      env: { A_SECRET: 'value of a variable' },
      subscribe: true,
    });
    await client.state(agent, 'completed');
    // A fault of the client's, with its frame.
    client.socket.send(`{"token":"${token}`);
    await client.call('ping', {});
    const told = JSON.stringify(client.frames.map(String));
    await gateway.kill('SIGTERM');
    const written = writtenBy(stage);
    for (const secret of [token, btoa(`x:${token}`), cookie, ticket, ...secrets]) {
      expect(written.includes(secret), `level ${level}`).toBe(false);
      expect(told.includes(secret)).toBe(false);
    }
    expect(told).not.toContain('value of a variable');
    if (level === 'info') {
      expect(gateway.log).not.toMatch(/Words of|value of a variable/);
    }
  }
});

test('the journal is nobody else’s to read, in a folder that was there before too', async () => {
  await using stage = await Stage.open({ claude: fakeClaude });
  const { dataDir } = stage.gateway;
  const modes = readdirSync(dataDir)
    .filter((name) => name.startsWith('journal.db'))
    .map((name) => statSync(join(dataDir, name)).mode & 0o777);
  expect(modes.length).toBeGreaterThan(0);
  expect(modes.every((mode) => mode === 0o600)).toBe(true);
});
