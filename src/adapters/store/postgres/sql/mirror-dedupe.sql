SELECT key, seq, keep_until FROM dedupe WHERE key = ANY ($1::text[]) AND agent = $2 ORDER BY seq
