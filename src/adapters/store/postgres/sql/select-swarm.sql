SELECT record FROM swarms WHERE nametag = $1
