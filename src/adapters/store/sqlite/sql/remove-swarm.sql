DELETE FROM swarms WHERE nametag = ?
