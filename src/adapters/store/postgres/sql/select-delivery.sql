SELECT n, id, agent AS agent_id, run_id, state, attempts, node, next_at, created_at, ended_at, reason, receipt, target, payload FROM deliveries WHERE id = $1
