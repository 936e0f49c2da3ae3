SELECT job FROM jobs WHERE next_at IS NOT NULL AND next_at <= ? ORDER BY next_at LIMIT ?
