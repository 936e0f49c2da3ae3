UPDATE runs SET abort = ? WHERE id = ? AND state = 'open' AND abort IS NULL
