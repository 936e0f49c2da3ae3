SELECT record FROM swarms WHERE nametag = ?
