SELECT node FROM nodes WHERE node = ? AND gone <> 1 AND lease_until > ?
