SELECT count(*) AS agents, coalesce(sum(waiting), 0)::bigint AS waiting FROM agents
WHERE busy AND (node IS NULL OR node NOT IN (
  SELECT node FROM nodes WHERE gone <> 1 AND lease_until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
))
