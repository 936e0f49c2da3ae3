-- What was spent, what calls under way have reserved, what a person allowed beyond the limit. Tokens, and millionths of a
-- dollar. `estimated_…` is the part of what was spent that nobody counted.
CREATE TABLE budgets (
  key TEXT PRIMARY KEY,
  spent_tokens INTEGER NOT NULL,
  spent_micros INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL,
  reserved_micros INTEGER NOT NULL,
  lifted_tokens INTEGER NOT NULL,
  lifted_micros INTEGER NOT NULL,
  estimated_tokens INTEGER NOT NULL,
  estimated_micros INTEGER NOT NULL,
  at INTEGER NOT NULL
) WITHOUT ROWID;

-- Only calls under way: the table is nearly empty at any time.
CREATE TABLE reservations (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  keys TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  micros INTEGER NOT NULL,
  at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX reservations_run ON reservations (run_id);

-- Which agents' people were told that a budget is used up, since it was last lifted.
CREATE TABLE budget_told (key TEXT NOT NULL, agent TEXT NOT NULL, PRIMARY KEY (key, agent)) WITHOUT ROWID;
