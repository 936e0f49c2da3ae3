DELETE FROM runs WHERE agent = ?
