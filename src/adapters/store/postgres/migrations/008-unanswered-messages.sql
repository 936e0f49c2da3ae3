-- Messages that got no answer, of all agents, for the lists that people look at.
CREATE INDEX messages_unanswered ON messages (settled_at, agent, seq) WHERE state IN ('dropped', 'failed', 'aborted', 'discarded');
