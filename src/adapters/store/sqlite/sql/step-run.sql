UPDATE runs SET step = step + 1, attempt = ?, body = ? WHERE id = ? AND state = 'open'
