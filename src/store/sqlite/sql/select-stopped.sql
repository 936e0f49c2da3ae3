SELECT parent, stopped FROM agents WHERE id = ?
