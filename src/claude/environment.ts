/** A variable's name, or a prefix that ends in `*`. */
type Pattern = string;

export interface AgentEnvironment {
  /** What the gateway itself was started with. */
  from: Readonly<Record<string, string | undefined>>;
  /** Further names that the operator lets through (`--pass-env`). */
  passEnv: readonly Pattern[];
  /** The run's marker: every process of its family has it in `SPAWNGATE_RUN`. */
  run: string;
  /** The task's own variables; they win over inherited ones, but can't bring in what is never passed. */
  task?: Readonly<Record<string, string>>;
  platform?: NodeJS.Platform;
}

const allowed: readonly Pattern[] = [
  ...'ANTHROPIC_* CLAUDE_CODE_* DISABLE_*'.split(' '),
  // Moves ~/.claude: without it the CLI would look for its login in the wrong place.
  'CLAUDE_CONFIG_DIR',
  // As root the CLI refuses --dangerously-skip-permissions without it.
  'IS_SANDBOX',
  ...'PATH HOME USER LOGNAME SHELL TMPDIR TERM TZ LANG LANGUAGE LC_* XDG_*'.split(' '),
  ...'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy'.split(' '),
  ...'NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR'.split(' '),
  // The same for the tools that agents run: curl, Python, git.
  ...'CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO'.split(' '),
];

const allowedOnWindows: readonly Pattern[] = [
  ...'SystemRoot SystemDrive windir COMSPEC PATHEXT TEMP TMP PROCESSOR_*'.split(' '),
  ...'USERNAME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA'.split(' '),
  ...'ProgramData ProgramFiles* ProgramW6432 CommonProgram*'.split(' '),
];

/**
 * Never passed, whoever names it: our own secrets, and what would make the CLI believe that it runs inside
 * another session (read off what 2.1.197 and 2.1.332 set for the children of a session and for bridges).
 */
const never: readonly Pattern[] = [
  'SPAWNGATE_*',
  ...'CLAUDECODE CLAUDE_PID CLAUDE_EFFORT CLAUDE_PROJECT_DIR AI_AGENT TRACEPARENT'.split(' '),
  // ID, ATTENDED, KIND, NAME, ORIGIN, ACCESS_TOKEN …
  'CLAUDE_CODE_SESSION_*',
  ...'CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_EXECPATH CLAUDE_CODE_SSE_PORT CLAUDE_CODE_INVOKED_SKILLS'.split(' '),
  ...'CLAUDE_CODE_CHILD_* CLAUDE_CODE_LAUNCHED_BY_* CLAUDE_CODE_STARTER_* CLAUDE_CODE_SPAWN*'.split(' '),
  ...'CLAUDE_CODE_BRIDGE_* CLAUDE_CODE_REMOTE_SESSION_* CLAUDE_CODE_MESSAGING_SOCKET'.split(' '),
  // Numbers of open files, which a child of ours doesn't have.
  'CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR',
  'CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR',
  'CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR',
  'CLAUDE_CODE_GATEWAY_TOKEN_FILE_DESCRIPTOR',
];

/** The environment of one run of the CLI: an allow-list, so that a secret of the gateway's shell stays there. */
export function agentEnvironment(spec: AgentEnvironment): Record<string, string> {
  const windows = (spec.platform ?? process.platform) === 'win32';
  const lets = matcher([...allowed, ...(windows ? allowedOnWindows : []), ...spec.passEnv], windows);
  const forbids = matcher(never, windows);
  const picked: Record<string, string> = {};
  for (const [name, value] of Object.entries(spec.from))
    if (value !== undefined && lets(name) && !forbids(name)) picked[name] = value;
  for (const [name, value] of Object.entries(spec.task ?? {})) if (!forbids(name)) picked[name] = value;
  // Gateways nest: the outer one must still find this process in its own run's family.
  const outer = spec.from.SPAWNGATE_RUN;
  picked.SPAWNGATE_RUN = outer ? `${outer},${spec.run}` : spec.run;
  return picked;
}

function matcher(patterns: readonly Pattern[], ignoreCase: boolean): (name: string) => boolean {
  const fold = (text: string) => (ignoreCase ? text.toUpperCase() : text);
  const folded = patterns.map(fold);
  const names = new Set(folded);
  const prefixes = folded.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (name) => names.has(fold(name)) || prefixes.some((prefix) => fold(name).startsWith(prefix));
}
