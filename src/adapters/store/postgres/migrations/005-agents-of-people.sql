-- The person each agent belongs to. Agents from before have none; theirs follows from the descriptor.
ALTER TABLE agents ADD COLUMN person text COLLATE "C";
CREATE INDEX agents_person ON agents (person, no) WHERE person IS NOT NULL;
