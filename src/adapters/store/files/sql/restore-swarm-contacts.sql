INSERT INTO swarm_contacts (swarm, contact, agent, sent, received, first_at, last_at)
SELECT descriptor ->> 'id', descriptor ->> 'contact', id, 0, 0, created_at, coalesce(state ->> 'updatedAt', created_at)
FROM agents WHERE kind = 'swarm' AND descriptor ->> 'id' IN (SELECT nametag FROM swarms)
