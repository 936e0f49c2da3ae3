SELECT seq, json_extract(message, '$.source') AS source, json_extract(message, '$.key') AS own FROM messages WHERE agent = ? AND seq > ? ORDER BY seq DESC LIMIT ?
