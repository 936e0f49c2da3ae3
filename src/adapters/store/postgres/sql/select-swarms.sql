SELECT record FROM swarms WHERE nametag > $1 ORDER BY nametag LIMIT $2
