-- Who has not ended, and who is to be put away when, are found without reading every record.
ALTER TABLE subagent_runs ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE subagent_runs ADD COLUMN due_at INTEGER;
UPDATE subagent_runs SET ended = record ->> 'endedAt' IS NOT NULL, due_at = record ->> 'archiveAtMs';
DROP INDEX subagent_runs_requester;
CREATE INDEX subagent_runs_requester ON subagent_runs (requester, ended);
CREATE INDEX subagent_runs_open ON subagent_runs (run_id) WHERE ended = 0;
CREATE INDEX subagent_runs_due ON subagent_runs (due_at) WHERE due_at IS NOT NULL;
