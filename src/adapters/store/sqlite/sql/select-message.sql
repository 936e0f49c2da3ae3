SELECT messages.seq, messages.state, messages.accepted_at, messages.settled_at, messages.run_id, messages.reason, messages.message
FROM messages JOIN agents ON agents.no = messages.agent
WHERE agents.id = ? AND messages.seq = ?
