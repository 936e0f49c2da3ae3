UPDATE nodes SET gone = 2 WHERE node = ?
