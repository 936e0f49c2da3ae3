UPDATE deliveries
SET n = ?, state = ?, attempts = ?, next_at = ?, ended_at = ?, reason = ?, receipt = coalesce(?, receipt)
WHERE id = ?
