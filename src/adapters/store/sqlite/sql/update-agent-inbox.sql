UPDATE agents SET next_seq = ?, cursor = ?, waiting = ?, node = ?, epoch = ?, last_human_at = ? WHERE no = ?
