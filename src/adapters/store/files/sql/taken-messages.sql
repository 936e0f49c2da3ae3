SELECT seq, message FROM messages WHERE agent = ? AND state = 'taken' ORDER BY seq
