-- Which agent waits for another in which of its runs. An edge counts while its run is open; the others are removed when
-- their run ends without having come back from the wait.
CREATE TABLE waits (id TEXT PRIMARY KEY, waiter TEXT NOT NULL, awaited TEXT NOT NULL, run_id TEXT NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX waits_waiter ON waits (waiter);
CREATE INDEX agents_parent ON agents (parent, no) WHERE parent IS NOT NULL;
