UPDATE deliveries
SET state = ?, attempts = ?, node = coalesce(?, node), next_at = ?, ended_at = ?, reason = ?, receipt = coalesce(?, receipt)
WHERE n = ?
