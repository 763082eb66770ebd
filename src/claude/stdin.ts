/**
 * The lines for the CLI's stdin. All are built here with JSON.stringify, never relayed: one bad line ends the
 * CLI (seen on 2.1.197 and 2.1.332).
 */
export type PermissionDecision =
  | { behavior: 'allow'; updatedInput: unknown; updatedPermissions?: unknown[] }
  | { behavior: 'deny'; message: string; interrupt?: boolean };

function line(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

function controlRequest(requestId: string, request: object): Buffer {
  return line({ type: 'control_request', request_id: requestId, request });
}

/** Its reply says that the process is up. Harmless when sent twice. */
export function initializeLine(requestId: string): Buffer {
  return controlRequest(requestId, { subtype: 'initialize' });
}

export function userLine(uuid: string, content: unknown): Buffer {
  const message = { role: 'user', content };
  return line({ type: 'user', message, parent_tool_use_id: null, session_id: '', uuid });
}

/** Written twice it ends the *next* turn too, so it's never sent again blindly. */
export function interruptLine(requestId: string): Buffer {
  return controlRequest(requestId, { subtype: 'interrupt' });
}

/** Not validated by the CLI (seen on both). */
export function setModelLine(requestId: string, model: string): Buffer {
  return controlRequest(requestId, { subtype: 'set_model', model });
}

/** 2.1.197 takes any word without a complaint, so it's checked before. */
export function setModeLine(requestId: string, mode: string): Buffer {
  return controlRequest(requestId, { subtype: 'set_permission_mode', mode });
}

/** The clean end: exit 0 when idle; mid-turn it interrupts and exits 1. */
export function endLine(requestId: string): Buffer {
  return controlRequest(requestId, { subtype: 'end_session' });
}

export function answerLine(requestId: string, decision: PermissionDecision): Buffer {
  const response = { subtype: 'success', request_id: requestId, response: decision };
  return line({ type: 'control_response', response });
}

/** For a request of the CLI that we don't serve; without an answer it would wait for ever. */
export function refusalLine(requestId: string, error: string): Buffer {
  return line({ type: 'control_response', response: { subtype: 'error', request_id: requestId, error } });
}
