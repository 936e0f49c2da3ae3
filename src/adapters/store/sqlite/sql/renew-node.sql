UPDATE nodes SET lease_until = ? WHERE node = ? AND gone = 0
