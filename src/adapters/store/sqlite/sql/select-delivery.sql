SELECT deliveries.n, deliveries.id, agents.id AS agent_id, deliveries.run_id, deliveries.state, deliveries.attempts, deliveries.node, deliveries.next_at,
  deliveries.created_at, deliveries.ended_at, deliveries.reason, deliveries.receipt, deliveries.target, deliveries.payload
FROM deliveries JOIN agents ON agents.no = deliveries.agent WHERE deliveries.id = ?
