SELECT job FROM jobs WHERE next_at IS NOT NULL AND next_at <= $1 ORDER BY next_at LIMIT $2
