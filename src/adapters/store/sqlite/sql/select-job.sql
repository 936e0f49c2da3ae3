SELECT job FROM jobs WHERE id = ?
