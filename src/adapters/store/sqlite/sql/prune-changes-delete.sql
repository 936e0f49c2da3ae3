DELETE FROM changes WHERE n = ?
