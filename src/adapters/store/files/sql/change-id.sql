SELECT id FROM changes WHERE n = ?
