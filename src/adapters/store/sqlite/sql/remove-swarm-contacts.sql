DELETE FROM swarm_contacts WHERE swarm = ?
