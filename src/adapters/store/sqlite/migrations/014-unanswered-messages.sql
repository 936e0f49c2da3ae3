-- Messages that got no answer, of all agents, for the lists that people look at.
CREATE INDEX messages_unanswered ON messages (settled_at, n) WHERE state IN ('dropped', 'failed', 'aborted', 'discarded');
