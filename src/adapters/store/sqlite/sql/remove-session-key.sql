DELETE FROM session_keys WHERE agent = ?
