SELECT record FROM swarms WHERE nametag > ? ORDER BY nametag LIMIT ?
