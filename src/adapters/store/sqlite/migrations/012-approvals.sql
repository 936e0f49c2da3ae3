-- A run that waits for a person holds nothing: its agent counts as busy only while a message waits.
ALTER TABLE agents ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0;
DROP INDEX agents_busy;
CREATE INDEX agents_busy ON agents (no) WHERE waiting > 0 OR (run_id IS NOT NULL AND suspended = 0);

-- Questions about tool calls, and their answers.
CREATE TABLE approvals (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  run_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  person TEXT NOT NULL,
  digest TEXT NOT NULL,
  state TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  ended_at INTEGER,
  decided_at INTEGER,
  decided_by TEXT,
  surface TEXT,
  reason TEXT,
  record TEXT NOT NULL,
  UNIQUE (run_id, call_id)
);
CREATE INDEX approvals_open ON approvals (agent) WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_due ON approvals (due_at) WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_agent ON approvals (agent, n);
CREATE INDEX approvals_person ON approvals (person, n);
