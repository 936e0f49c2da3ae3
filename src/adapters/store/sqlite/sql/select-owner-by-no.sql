SELECT no, id, session_key, kind, parent, session_id, next_seq, cursor, waiting, next_pos, leaf, run_id, node, epoch, last_human_at, stopped
FROM agents WHERE no = ?
