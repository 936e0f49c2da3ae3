-- Published agents, and who has contacted each: the agent that serves a contact is found by its session key.
CREATE TABLE swarms (nametag TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE swarm_contacts (
  swarm TEXT NOT NULL,
  contact TEXT NOT NULL,
  agent TEXT,
  sent INTEGER NOT NULL,
  received INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (swarm, contact)
) WITHOUT ROWID;
CREATE INDEX swarm_contacts_latest ON swarm_contacts (swarm, last_at);
CREATE INDEX agents_roots ON agents (no) WHERE parent IS NULL;
