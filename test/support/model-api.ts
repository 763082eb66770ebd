import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Asked,
  type MessagesRequest,
  messagesRequestSchema,
  toolId,
  whatIsAsked,
} from './model-conversation.ts';
import { type RecordedRequest, RequestRecord } from './model-record.ts';
import { asEvents, asMessage, type Reply, type ReplyIds, replyTo, type SpokenStep } from './model-reply.ts';

/**
 * A model that does what its prompts say: Anthropic's Messages API on 127.0.0.1, enough of it for the real CLI to run
 * whole turns with `ANTHROPIC_BASE_URL`. It keeps no state but the record: the step to play is read off the
 * conversation in each request, so it may be restarted between two of them.
 */
export async function startModelApi({ port = 0 }: { port?: number } = {}) {
  const record = new RequestRecord();
  // No time limits: an idle connection that we closed just as the CLI reuses it would look like a step asked twice.
  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (request, response) => {
    answer(request, response, record).catch((error: unknown) => {
      // A client that leaves mid-stream is part of the game (interrupts, kills); else the script is bad, or we are.
      if (!response.destroyed) sendError(response, 400, 'invalid_request_error', `scripted model: ${error}`);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Oldest first; bounded, see `RequestRecord`. */
    requests: record.requests as readonly RecordedRequest[],
    /** What each request for a step of this script was sent as text, in the order asked. */
    said: (script: string) => record.of(script).map(({ said }) => said),
    /** The steps of this script in the order asked: `[0, 1, 2]` if each was asked for exactly once. */
    stepsAsked: (script: string) => record.of(script).map(({ index }) => index),
    /** Resolves once this step has been asked for, at once if it already was. */
    asked: (script: string, index: number) => record.asked(script, index),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  record: RequestRecord,
): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://model');
  const body = Buffer.concat(await request.toArray());
  const route = `${request.method} ${pathname}`;
  if (route === 'POST /v1/messages') {
    await answerMessages(messagesRequestSchema.parse(JSON.parse(body.toString())), response, record);
  } else if (route === 'POST /v1/messages/count_tokens') {
    sendJson(response, 200, { input_tokens: 1200 });
  } else if (pathname === '/') {
    sendJson(response, 200, {});
  } else {
    sendError(response, 404, 'not_found_error', `the scripted model has no ${route}`);
  }
}

async function answerMessages(request: MessagesRequest, response: ServerResponse, record: RequestRecord) {
  const asked = whatIsAsked(request);
  const entry = record.add(asked);
  const step = stepFor(asked);
  if ('hang' in step) {
    await once(response, 'close');
  } else if ('error' in step) {
    sendError(response, step.error.status, step.error.type, step.error.message);
  } else {
    const reply = replyTo(request, step, ids(asked, `${request.messages.length}_${entry.number}`));
    if (request.stream) await stream(reply, response, (text) => record.say(entry, text));
    else sendWhole(reply, response, (text) => record.say(entry, text));
  }
}

function stepFor(asked: Asked) {
  switch (asked.kind) {
    case 'side':
      return { say: 'Scripted' } satisfies SpokenStep;
    case 'plain':
      return { say: 'Hello from the scripted model.' } satisfies SpokenStep;
    case 'step':
      return asked.script.steps[asked.index] ?? ({ say: 'Done.' } satisfies SpokenStep);
    default:
      return asked satisfies never;
  }
}

/** The CLI merges messages by id: the conversation's length is in it, lest a restarted API give one out again. */
function ids(asked: Asked, unique: string): ReplyIds {
  if (asked.kind !== 'step')
    return { message: `msg_${asked.kind}_${unique}`, tool: (k) => `toolu_${unique}_${k}` };
  const { script, index } = asked;
  return {
    message: `msg_${script.hash}_${index}_${unique}`,
    tool: (k) => toolId(script, index, `${unique}_${k}`),
  };
}

async function stream(reply: Reply, response: ServerResponse, say: (text: string) => void): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'request-id': reply.id,
  });
  for (const event of asEvents(reply)) {
    if (left.signal.aborted) return;
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') say(event.delta.text);
    const hasRoom = response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    if (!hasRoom) await once(response, 'drain', { signal: left.signal });
    if (reply.delayMs > 0 && event.type === 'content_block_delta') {
      await pause(reply.delayMs, undefined, { signal: left.signal });
    }
  }
  response.end();
}

function sendWhole(reply: Reply, response: ServerResponse, say: (text: string) => void): void {
  for (const block of reply.blocks) if (block.type === 'text') say(block.text);
  sendJson(response, 200, asMessage(reply));
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function sendError(response: ServerResponse, status: number, type: string, message: string): void {
  sendJson(response, status, { type: 'error', error: { type, message } });
}
