-- How many sends of a question may have arrived; -1 once its person knows how it ended. A withdrawn one with a count waits for its notice.
ALTER TABLE approvals ADD COLUMN shown integer NOT NULL DEFAULT 0;
CREATE INDEX approvals_untold ON approvals (n) WHERE state = 'withdrawn' AND shown > 0;
