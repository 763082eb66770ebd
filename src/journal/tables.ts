/** The journal's tables. `STRICT`, so that a wrong type is an error where it is made. */
export const tables = `
CREATE TABLE IF NOT EXISTS epochs (
  id TEXT PRIMARY KEY,
  began INTEGER NOT NULL,      -- epoch ms
  last INTEGER                 -- its last seq; null while it runs
) STRICT;

CREATE TABLE IF NOT EXISTS facts (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  tree TEXT NOT NULL,
  head TEXT NOT NULL,          -- the event's JSON without seq, data and braces
  data TEXT NOT NULL,          -- the data's JSON
  size INTEGER NOT NULL,       -- of data, in UTF-16 units
  large INTEGER NOT NULL,      -- 1: data goes out as null
  commit_to INTEGER NOT NULL   -- seq of the last fact of its commit
) STRICT;
CREATE INDEX IF NOT EXISTS facts_of_tree ON facts (tree, seq);

CREATE TABLE IF NOT EXISTS agents (
  id TEXT PRIMARY KEY,
  tree TEXT NOT NULL,
  parent TEXT,
  owner TEXT NOT NULL,
  created INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  state TEXT NOT NULL,
  version INTEGER NOT NULL,
  task TEXT NOT NULL,
  record TEXT NOT NULL,
  result TEXT,
  result_seq INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS agents_of_tree ON agents (tree);
CREATE INDEX IF NOT EXISTS agents_queued ON agents (seq) WHERE state = 'queued';
CREATE INDEX IF NOT EXISTS agents_of_owner ON agents (owner, created);

CREATE TABLE IF NOT EXISTS runs (
  agent TEXT NOT NULL,
  run INTEGER NOT NULL,
  marker TEXT NOT NULL,
  facts_to INTEGER NOT NULL,
  text_from INTEGER NOT NULL,
  input_to INTEGER NOT NULL,
  open INTEGER NOT NULL,
  PRIMARY KEY (agent, run)
) STRICT;
CREATE INDEX IF NOT EXISTS runs_open ON runs (open) WHERE open = 1;

CREATE TABLE IF NOT EXISTS inputs (
  agent TEXT NOT NULL,
  run INTEGER NOT NULL,
  begins INTEGER NOT NULL,     -- first byte in in.ndjson
  ends INTEGER NOT NULL,       -- the byte after its newline
  kind TEXT NOT NULL,
  ref TEXT,
  bytes BLOB NOT NULL,
  PRIMARY KEY (agent, run, begins)
) STRICT;

CREATE TABLE IF NOT EXISTS contents (
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  content TEXT NOT NULL,
  seq INTEGER,                 -- of the fact that told of it, if it's shown while it waits
  PRIMARY KEY (agent, id)
) STRICT;

CREATE TABLE IF NOT EXISTS permissions (
  id TEXT PRIMARY KEY,
  tree TEXT NOT NULL,
  agent TEXT NOT NULL,
  run INTEGER NOT NULL,
  owner TEXT NOT NULL,
  request TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  question TEXT NOT NULL,
  settled TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS permissions_open ON permissions (tree, seq) WHERE settled IS NULL;

CREATE TABLE IF NOT EXISTS keys (
  owner TEXT NOT NULL,
  method TEXT NOT NULL,
  key TEXT NOT NULL,
  params TEXT NOT NULL,
  outcome TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (owner, method, key)
) STRICT;
CREATE INDEX IF NOT EXISTS keys_by_age ON keys (at);
`;
