SELECT node FROM nodes WHERE node = ? AND gone = 0 AND lease_until > ?
