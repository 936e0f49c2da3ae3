SELECT seq FROM messages WHERE agent = ? AND seq > ? AND state = 'waiting' ORDER BY seq LIMIT 1
