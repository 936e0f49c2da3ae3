SELECT id, run_id, to_json(keys)::text AS keys, tokens, micros, at FROM reservations ORDER BY at, id LIMIT $1
