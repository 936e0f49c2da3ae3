UPDATE runs SET state = 'ended', step = step + 1, outcome = ?, ended_at = ?, body = ? WHERE id = ? AND state = 'open'
