SELECT no, id, run_id, next_pos, leaf FROM agents WHERE run_id IS NOT NULL
  OR no IN (SELECT agent FROM messages WHERE state = 'taken')
  OR no IN (SELECT agent FROM deliveries WHERE state IN ('pending', 'sending'))
ORDER BY no
