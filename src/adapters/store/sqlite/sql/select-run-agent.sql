SELECT agent FROM runs WHERE id = ?
