SELECT no FROM agents WHERE id = ?
