SELECT node, name, lease_until, gone FROM nodes ORDER BY node
