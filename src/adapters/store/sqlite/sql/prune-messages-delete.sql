DELETE FROM messages WHERE n = ?
