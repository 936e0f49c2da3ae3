SELECT dedupe.key AS n,
  CASE WHEN messages.state IN ('waiting', 'taken') THEN NULL ELSE dedupe.keep_until END AS ended_at
FROM dedupe LEFT JOIN messages ON messages.agent = dedupe.agent AND messages.seq = dedupe.seq
WHERE dedupe.key > ? ORDER BY dedupe.key LIMIT ?
