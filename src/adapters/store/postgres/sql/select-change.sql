SELECT result FROM changes WHERE id = $1
