-- Everything that belongs to an agent is partitioned by the agent's id, so that one database stays manageable and a later
-- shard takes whole partitions along. Session keys, dedupe keys and changes are partitioned by their own key.
-- JSON is kept as text: what was written is read back byte for byte, also characters that jsonb refuses.

CREATE SEQUENCE agent_numbers;
CREATE SEQUENCE run_numbers;
CREATE SEQUENCE delivery_numbers;

CREATE TABLE nodes (
  node bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  lease_until bigint NOT NULL,
  -- 1: it has left or died. 2: its process lost the lease, lived on and joined again under another number.
  gone smallint NOT NULL DEFAULT 0,
  -- Whether its process holds an advisory lock, which is gone as soon as the process is.
  locked boolean NOT NULL DEFAULT false
);

-- Small and hot: counters, ownership, marks. The state, which is large and written once per run, has its own table.
CREATE TABLE agents (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  no bigint NOT NULL DEFAULT nextval('agent_numbers'),
  session_key text COLLATE "C" NOT NULL,
  profile text NOT NULL,
  kind text NOT NULL,
  parent text COLLATE "C",
  descriptor text NOT NULL,
  created_at bigint NOT NULL,
  session_id text NOT NULL,
  next_seq bigint NOT NULL DEFAULT 1,
  cursor bigint NOT NULL DEFAULT 0,
  waiting bigint NOT NULL DEFAULT 0,
  next_pos bigint NOT NULL,
  leaf text NOT NULL,
  run_id text COLLATE "C",
  -- Whether anything waits or a run is open. Kept as a column so that most updates touch no index.
  busy boolean NOT NULL DEFAULT false,
  node bigint,
  epoch bigint NOT NULL DEFAULT 0,
  last_human_at bigint,
  stopped text,
  -- The sequence the stop mark says.
  stop_seq bigint,
  -- Whether the stop mark says that the agent was removed.
  removed boolean NOT NULL DEFAULT false
) PARTITION BY HASH (id);
CREATE INDEX agents_no ON agents (no);
CREATE INDEX agents_busy ON agents (no) WHERE busy;
CREATE INDEX agents_foreground ON agents (last_human_at, no) WHERE kind = 'user' AND last_human_at IS NOT NULL;
CREATE INDEX agents_kind ON agents (kind, no);
CREATE INDEX agents_parent ON agents (parent, no) WHERE parent IS NOT NULL;
CREATE INDEX agents_roots ON agents (no) WHERE parent IS NULL;
CREATE INDEX agents_held ON agents (node) WHERE node IS NOT NULL;

CREATE TABLE states (agent text COLLATE "C" NOT NULL PRIMARY KEY, state text NOT NULL) PARTITION BY HASH (agent);

CREATE TABLE session_keys (key text COLLATE "C" NOT NULL PRIMARY KEY, agent text COLLATE "C" NOT NULL) PARTITION BY HASH (key);

CREATE TABLE dedupe (
  key text COLLATE "C" NOT NULL PRIMARY KEY,
  agent text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  keep_until bigint NOT NULL
) PARTITION BY HASH (key);

CREATE TABLE messages (
  agent text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  state text NOT NULL,
  urgent boolean NOT NULL,
  is_reset boolean NOT NULL DEFAULT false,
  accepted_at bigint NOT NULL,
  settled_at bigint,
  run_id text,
  reason text,
  message text NOT NULL,
  PRIMARY KEY (agent, seq)
) PARTITION BY HASH (agent);
CREATE INDEX messages_urgent ON messages (agent, seq) WHERE urgent;

CREATE TABLE entries (
  agent text COLLATE "C" NOT NULL,
  pos bigint NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (agent, pos)
) PARTITION BY HASH (agent);

CREATE TABLE runs (
  id text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  n bigint NOT NULL DEFAULT nextval('run_numbers'),
  session_id text NOT NULL,
  state text NOT NULL DEFAULT 'open',
  attempt bigint NOT NULL DEFAULT 1,
  step bigint NOT NULL DEFAULT 1,
  started_at bigint NOT NULL,
  ended_at bigint,
  outcome text,
  abort text,
  body text NOT NULL,
  -- What the body says of whom it worked for and what it used, for sums.
  person text,
  tokens bigint NOT NULL DEFAULT 0,
  cost double precision NOT NULL DEFAULT 0,
  PRIMARY KEY (id, agent)
) PARTITION BY HASH (agent);
CREATE INDEX runs_agent ON runs (agent, n);
CREATE INDEX runs_started ON runs (started_at);

CREATE TABLE deliveries (
  id text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  n bigint NOT NULL DEFAULT nextval('delivery_numbers'),
  run_id text,
  state text NOT NULL,
  attempts bigint NOT NULL DEFAULT 0,
  node bigint,
  next_at bigint NOT NULL,
  created_at bigint NOT NULL,
  ended_at bigint,
  reason text,
  receipt text,
  target text COLLATE "C" NOT NULL,
  payload text NOT NULL,
  PRIMARY KEY (id, agent)
) PARTITION BY HASH (agent);
CREATE INDEX deliveries_agent ON deliveries (agent, n);
CREATE INDEX deliveries_n ON deliveries (n);
CREATE INDEX deliveries_open ON deliveries (n) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_head ON deliveries (target, n) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_dead ON deliveries (n) WHERE state IN ('failed', 'unconfirmed');

-- Every applied change: its id is unique, so that none is applied twice and a lost answer can be looked up (M2). `xid` tells
-- a follower which changes were committed since it last looked, whatever order they were begun in.
CREATE TABLE changes (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  at bigint NOT NULL,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  touched text[] NOT NULL,
  result text
) PARTITION BY HASH (id);

CREATE TABLE jobs (id text COLLATE "C" NOT NULL PRIMARY KEY, next_at bigint, version bigint NOT NULL DEFAULT 0, job text NOT NULL);
CREATE INDEX jobs_due ON jobs (next_at) WHERE next_at IS NOT NULL;

-- What became of each due time of each job: one row per slot, or per range of skipped ones.
CREATE TABLE job_slots (
  n bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  job text COLLATE "C" NOT NULL,
  slot text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  row text NOT NULL,
  UNIQUE (job, slot)
);
CREATE INDEX job_slots_newest ON job_slots (job, n);

CREATE TABLE subagent_runs (run_id text COLLATE "C" NOT NULL PRIMARY KEY, requester text COLLATE "C" NOT NULL, record text NOT NULL,
  ended boolean NOT NULL DEFAULT false, due_at bigint);
CREATE INDEX subagent_runs_requester ON subagent_runs (requester, ended);
CREATE INDEX subagent_runs_open ON subagent_runs (run_id) WHERE NOT ended;
CREATE INDEX subagent_runs_due ON subagent_runs (due_at) WHERE due_at IS NOT NULL;

-- What was spent, what calls under way have reserved, what a person allowed beyond the limit. Tokens, and millionths of a
-- dollar. `estimated_…` is the part of what was spent that nobody counted.
CREATE TABLE budgets (
  key text COLLATE "C" NOT NULL PRIMARY KEY,
  spent_tokens bigint NOT NULL DEFAULT 0,
  spent_micros bigint NOT NULL DEFAULT 0,
  reserved_tokens bigint NOT NULL DEFAULT 0,
  reserved_micros bigint NOT NULL DEFAULT 0,
  lifted_tokens bigint NOT NULL DEFAULT 0,
  lifted_micros bigint NOT NULL DEFAULT 0,
  estimated_tokens bigint NOT NULL DEFAULT 0,
  estimated_micros bigint NOT NULL DEFAULT 0,
  at bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE reservations (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  run_id text COLLATE "C" NOT NULL,
  keys text[] NOT NULL,
  tokens bigint NOT NULL,
  micros bigint NOT NULL,
  at bigint NOT NULL
);
CREATE INDEX reservations_run ON reservations (run_id);
CREATE TABLE budget_told (key text COLLATE "C" NOT NULL, agent text COLLATE "C" NOT NULL, PRIMARY KEY (key, agent));

-- Which agent waits for another in which of its runs. An edge counts while its run is open.
CREATE TABLE waits (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  waiter text COLLATE "C" NOT NULL,
  awaited text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  since bigint NOT NULL
);
CREATE INDEX waits_waiter ON waits (waiter);

-- Published agents, and who has contacted each: the agent that serves a contact is found by its session key.
CREATE TABLE swarms (nametag text COLLATE "C" NOT NULL PRIMARY KEY, record text NOT NULL);
CREATE TABLE swarm_contacts (
  swarm text COLLATE "C" NOT NULL,
  contact text COLLATE "C" NOT NULL,
  agent text COLLATE "C",
  sent bigint NOT NULL,
  received bigint NOT NULL,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL,
  PRIMARY KEY (swarm, contact)
);
CREATE INDEX swarm_contacts_latest ON swarm_contacts (swarm, last_at);

CREATE TABLE facts (key text COLLATE "C" NOT NULL PRIMARY KEY, value text NOT NULL);

CREATE TABLE files (path text COLLATE "C" NOT NULL PRIMARY KEY, content bytea NOT NULL, written_at timestamptz NOT NULL DEFAULT now());

DO $$
DECLARE
  whole text;
BEGIN
  FOREACH whole IN ARRAY ARRAY['agents', 'states', 'session_keys', 'dedupe', 'messages', 'entries', 'runs', 'deliveries', 'changes'] LOOP
    FOR part IN 0..7 LOOP
      EXECUTE format(
        'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 8, REMAINDER %s) WITH (fillfactor = %s)',
        whole || '_' || part, whole, part,
        CASE WHEN whole IN ('agents', 'states', 'runs') THEN 70 WHEN whole = 'messages' THEN 80 ELSE 100 END
      );
    END LOOP;
  END LOOP;
END $$;
