import { WebSocket } from 'ws';

export type Knock = { path?: string; protocols?: string[]; headers?: Record<string, string> };

export type Answer =
  /** Refused before the upgrade. */
  | { status: number }
  /** Upgraded, and closed before anything was said. */
  | { protocol: string; code: number; reason: string }
  /** Let in. */
  | { protocol: string; welcome: Record<string, unknown> };

/** Tries to get in, tells how that was answered, and goes away again. */
export function knock(
  url: string,
  { path = '/v1/ws', protocols = [], headers = {} }: Knock,
): Promise<Answer> {
  const socket = new WebSocket(url.replace('http', 'ws') + path, protocols, { headers });
  return new Promise((resolve, reject) => {
    const answered = (answer: Answer) => {
      socket.terminate();
      resolve(answer);
    };
    socket.on('error', reject);
    socket.on('unexpected-response', (_request, { statusCode = 0 }) => {
      socket.off('error', reject).on('error', () => {});
      answered({ status: statusCode });
    });
    socket.on('close', (code, reason) =>
      resolve({ protocol: socket.protocol, code, reason: reason.toString() }),
    );
    socket.on('message', (data) =>
      answered({ protocol: socket.protocol, welcome: JSON.parse(data.toString()).params }),
    );
  });
}
