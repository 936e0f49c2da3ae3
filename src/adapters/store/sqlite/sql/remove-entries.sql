DELETE FROM entries WHERE agent = ?
