UPDATE agents
SET next_seq = ?, cursor = ?, waiting = ?, node = ?, epoch = ?, last_human_at = ?,
    session_id = ?, next_pos = ?, leaf = ?, run_id = ?, stopped = ?, state = ?
WHERE no = ?
