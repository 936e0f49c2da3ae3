SELECT state, step, abort FROM runs WHERE id = ?
