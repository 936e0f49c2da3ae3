SELECT pos, line FROM entries WHERE agent = (SELECT no FROM agents WHERE id = ?) AND pos < ? ORDER BY pos DESC LIMIT ?
