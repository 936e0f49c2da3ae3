SELECT pos, line FROM entries WHERE agent = $1 AND pos < $2 ORDER BY pos DESC LIMIT $3
