UPDATE messages SET state = 'taken', run_id = ? WHERE agent = ? AND seq = ? AND state = 'waiting'
