-- Agents of one kind without looking at all others: few permanent agents among many conversations. The kind never
-- changes, so the index is written once per agent.
CREATE INDEX agents_kind ON agents (kind);
