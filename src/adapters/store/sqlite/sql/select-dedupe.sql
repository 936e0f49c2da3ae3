SELECT agents.id AS agent_id, dedupe.seq FROM dedupe JOIN agents ON agents.no = dedupe.agent WHERE dedupe.key = ?
