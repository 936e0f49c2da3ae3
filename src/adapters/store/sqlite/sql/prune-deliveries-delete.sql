DELETE FROM deliveries WHERE n = ?
