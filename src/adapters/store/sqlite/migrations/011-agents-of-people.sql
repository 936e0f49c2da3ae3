-- The person each agent belongs to. Agents from before have none; theirs follows from the descriptor.
ALTER TABLE agents ADD COLUMN person TEXT;
CREATE INDEX agents_person ON agents (person, no) WHERE person IS NOT NULL;
