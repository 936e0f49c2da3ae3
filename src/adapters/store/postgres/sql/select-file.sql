SELECT content FROM files WHERE path = $1
