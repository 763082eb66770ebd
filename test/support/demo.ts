/**
 * `npm run demo`: one task from its start to its result, with the real gateway and the real Claude Code, on a scripted
 * model. It needs no account and no network, and leaves the gateway up to be tried (`--once`: ends it, too).
 */
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, styleText } from 'node:util';
import type { Delta, Fact } from '../../src/protocol/events.ts';
import { makeClaudeEnv } from './claude-home.ts';
import { TestClient } from './client.ts';
import { GatewayProcess } from './gateway.ts';
import { startModelApi } from './model-api.ts';
import { script } from './model-script.ts';

const words = 'Please leave a note for whoever comes next.';
const pace = { chunk: 3, delayMs: 25 };
const prompt = script(
  [
    {
      say: 'I will write the note into a file, so that it is still there tomorrow.',
      tool: 'Bash',
      input: {
        command: 'echo "Hello from Spawngate." > note.txt && cat note.txt',
        description: 'Write the note',
      },
      ...pace,
    },
    { say: 'Done: the note is in note.txt, and it says "Hello from Spawngate."', ...pace },
  ],
  { words },
);

const ends = ['completed', 'failed', 'cancelled', 'timed_out', 'over_budget'];

const { values } = parseArgs({
  options: { once: { type: 'boolean', default: false }, port: { type: 'string', default: '4600' } },
});
let shown = 0;
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupted.abort());

await using stack = new AsyncDisposableStack();
const model = stack.use(await startModelApi());
const { env } = stack.use(await makeClaudeEnv({ modelUrl: model.url }));
const gateway = stack.use(
  new GatewayProcess({ env, flags: ['--port', await freePort(values.port)], detached: true }),
);
stack.defer(() => gateway.kill('SIGTERM'));
await gateway.start();
const client = await TestClient.connect(gateway.url, gateway.token);
stack.defer(() => endAgents(client, gateway));

print(`A gateway at ${gateway.url}, the real Claude Code, and a scripted model: no account, no network.\n`);
await Promise.race([play(client), once(interrupted.signal, 'abort')]);
if (!values.once && !interrupted.signal.aborted) {
  print(`The gateway stays up.
  socket   ${gateway.url.replace('http', 'ws')}/v1/ws
  token    ${join(gateway.dataDir, 'token')}
  folder   ${gateway.work} (agents may work here)
Its model answers any prompt with a greeting. Ctrl-C ends it, its agents and the model, and deletes their files.`);
  await Promise.race([once(interrupted.signal, 'abort'), gateway.ended()]);
}
if (interrupted.signal.aborted) print('\nEnding.');

async function play(client: TestClient): Promise<void> {
  const began = performance.now();
  const { agent } = await client.call('task.start', { prompt, cwd: gateway.work, subscribe: true });
  print(`${faint('task    ')} ${words}`);
  const asked = await follow(client, () => client.of('permission.requested')[0]);
  const { permission, tool, input } = asked.data;
  print(`${faint('asks    ')} ${tool}: ${(input as { command?: string } | null)?.command}`);
  await client.call('permission.answer', { permission, behavior: 'allow' });
  print(`${faint('answered')} allow`);
  await follow(client, () => client.of('agent.state', agent).find(({ data }) => ends.includes(data.state)));
  const { state, text, turns } = await client.call('agent.result', { agent });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const deltas = client.events.length - client.facts.length;
  print(`${faint('result  ')} ${text}`);
  print(
    `${faint(state.padEnd(8))} in ${seconds} s: ${turns} turn, ${client.facts.length} facts, ${deltas} deltas.\n`,
  );
  if (state !== 'completed') process.exitCode = 1;
}

/** Shows what comes, until there is what one looks for. */
function follow<T>(client: TestClient, look: () => T | undefined): Promise<T> {
  return client.until(() => {
    for (const { event } of client.events.slice(shown)) show(event);
    shown = client.events.length;
    return look();
  });
}

function show(event: Fact | Delta): void {
  if (event.type === 'delta') {
    if (event.kind !== 'text') return;
    if (event.at === 0) process.stdout.write(`${faint('claude  ')} `);
    process.stdout.write(event.text);
  } else if (event.type === 'message' && event.message !== undefined && hasText(event.data)) {
    print('');
  }
}

function hasText(data: object): boolean {
  const { content } = (data as { message: { content: { type: string }[] } }).message;
  return content.some(({ type }) => type === 'text');
}

/** Cancels whatever works, and waits until no process of a run is left: closed runs have no folder. */
async function endAgents(client: TestClient, { dataDir }: GatewayProcess): Promise<void> {
  if (client.closed) return;
  const { agents } = await client.call('tree.get', { tree: '*' });
  for (const { id } of agents) await client.call('task.cancel', { agent: id });
  const spools = join(dataDir, 'spools');
  while (existsSync(spools) && readdirSync(spools).length > 0) await delay(20);
  await client.close();
}

async function freePort(wanted: string): Promise<string> {
  const probe = createServer().listen(Number(wanted), '127.0.0.1');
  try {
    await once(probe, 'listening');
    return wanted;
  } catch {
    return '0'; // taken: any will do
  } finally {
    probe.close();
  }
}

function faint(text: string): string {
  return styleText('dim', text, { stream: process.stdout });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
