SELECT value FROM facts WHERE key = $1
