SELECT job FROM jobs WHERE id > ? ORDER BY id LIMIT ?
