SELECT job FROM jobs WHERE id = $1
