DELETE FROM dedupe WHERE key = ?
