UPDATE nodes SET gone = 1 WHERE gone = 0
