SELECT swarm, contact, agent, sent, received, first_at, last_at FROM swarm_contacts WHERE swarm = ? AND contact = ?
