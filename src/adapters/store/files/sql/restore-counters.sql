UPDATE agents SET session_id = ?, next_seq = ?, cursor = ?, waiting = ?, next_pos = ?, leaf = ?, run_id = ? WHERE no = ?
