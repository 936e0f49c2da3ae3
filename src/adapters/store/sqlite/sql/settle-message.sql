UPDATE messages SET state = ?, run_id = coalesce(?, run_id), reason = ?, settled_at = ?
WHERE agent = ? AND seq = ? AND state = ?
