SELECT seq, keep_until FROM dedupe WHERE key = ? AND agent = ?
