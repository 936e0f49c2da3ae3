INSERT INTO swarm_contacts (swarm, contact, agent, sent, received, first_at, last_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
ON CONFLICT (swarm, contact) DO UPDATE SET
  agent = coalesce(excluded.agent, agent), sent = sent + excluded.sent, received = received + excluded.received,
  last_at = max(last_at, excluded.last_at)
