DELETE FROM messages WHERE agent = ?
