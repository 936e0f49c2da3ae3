SELECT no FROM agents
WHERE (waiting > 0 OR run_id IS NOT NULL)
  AND no > ?
  AND (node IS NULL OR node = ? OR node NOT IN (SELECT node FROM nodes WHERE gone <> 1 AND lease_until > ?))
ORDER BY no LIMIT ?
