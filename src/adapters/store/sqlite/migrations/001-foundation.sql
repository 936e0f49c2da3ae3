-- Append layout: the tables that grow with every message are plain rowid tables with one small index each, because a
-- clustered key writes several times as many bytes. `no` and `n` are the store's own numbers and never leave it.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Every applied change: its id (so that a lost answer can be looked up) and whom it touched (so that the plain files can
-- follow). No index over ids: one is looked up only after a commit went wrong, and then it is among the newest rows.
-- `touched` lists agent numbers and the words `jobs` and `subagents`, separated by blanks.
CREATE TABLE changes (n INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, touched TEXT NOT NULL, result TEXT);

CREATE TABLE nodes (node INTEGER PRIMARY KEY, name TEXT NOT NULL, lease_until INTEGER NOT NULL, gone INTEGER NOT NULL DEFAULT 0);

CREATE TABLE agents (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  session_key TEXT NOT NULL,
  profile TEXT NOT NULL,
  kind TEXT NOT NULL,
  parent TEXT,
  descriptor TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  next_seq INTEGER NOT NULL,
  cursor INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  next_pos INTEGER NOT NULL,
  leaf TEXT NOT NULL,
  run_id TEXT,
  node INTEGER,
  epoch INTEGER NOT NULL,
  last_human_at INTEGER,
  stopped TEXT,
  state TEXT NOT NULL
);
CREATE UNIQUE INDEX agents_id ON agents (id);
CREATE INDEX agents_busy ON agents (no) WHERE waiting > 0 OR run_id IS NOT NULL;
CREATE INDEX agents_foreground ON agents (last_human_at) WHERE kind = 'user' AND last_human_at IS NOT NULL;
CREATE INDEX agents_heartbeat ON agents (no) WHERE kind = 'heartbeat';

CREATE TABLE session_keys (key TEXT PRIMARY KEY, agent INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE dedupe (key TEXT PRIMARY KEY, agent INTEGER NOT NULL, seq INTEGER NOT NULL, keep_until INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE messages (
  n INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  state TEXT NOT NULL,
  urgent INTEGER NOT NULL,
  accepted_at INTEGER NOT NULL,
  settled_at INTEGER,
  run_id TEXT,
  reason TEXT,
  message TEXT NOT NULL
);
CREATE UNIQUE INDEX messages_place ON messages (agent, seq);
CREATE INDEX messages_urgent ON messages (agent, seq) WHERE urgent = 1 AND state = 'waiting';

CREATE TABLE entries (n INTEGER PRIMARY KEY, agent INTEGER NOT NULL, pos INTEGER NOT NULL, line TEXT NOT NULL);
CREATE UNIQUE INDEX entries_place ON entries (agent, pos);

CREATE TABLE runs (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  agent INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  outcome TEXT,
  abort TEXT,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX runs_id ON runs (id);
CREATE INDEX runs_agent ON runs (agent);

CREATE TABLE deliveries (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  agent INTEGER NOT NULL,
  run_id TEXT,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  node INTEGER,
  next_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  reason TEXT,
  receipt TEXT,
  target TEXT NOT NULL,
  payload TEXT NOT NULL
);
CREATE UNIQUE INDEX deliveries_id ON deliveries (id);
CREATE INDEX deliveries_agent ON deliveries (agent);
CREATE INDEX deliveries_open ON deliveries (n) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_head ON deliveries (target, n) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_dead ON deliveries (n) WHERE state IN ('failed', 'unconfirmed');

CREATE TABLE jobs (id TEXT PRIMARY KEY, next_at INTEGER, job TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE subagent_runs (run_id TEXT PRIMARY KEY, requester TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX subagent_runs_requester ON subagent_runs (requester);

CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
