UPDATE nodes SET gone = 1 WHERE node = ?
