SELECT seq FROM messages
WHERE agent = ? AND seq > ? AND urgent = 1 AND state = 'waiting' AND message ->> '$.body.kind' = 'reset'
LIMIT 1
