SELECT pos, line FROM entries WHERE agent = ? AND pos >= ? ORDER BY pos LIMIT ?
