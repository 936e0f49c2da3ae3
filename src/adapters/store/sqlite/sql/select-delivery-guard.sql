SELECT n, agent, state, attempts FROM deliveries WHERE id = ?
