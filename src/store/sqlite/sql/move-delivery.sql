UPDATE deliveries
SET n = ?, state = ?, attempts = ?, node = coalesce(?, node), next_at = ?, created_at = coalesce(?, created_at), ended_at = ?,
    reason = ?, receipt = coalesce(?, receipt)
WHERE id = ?
