SELECT messages.seq, messages.state, messages.accepted_at, messages.settled_at, messages.run_id, messages.reason, messages.message
FROM messages JOIN agents ON agents.no = messages.agent
WHERE agents.id = ? AND messages.seq > max(agents.cursor, ?) AND messages.state = 'waiting'
ORDER BY messages.seq LIMIT ?
