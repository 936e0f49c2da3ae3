UPDATE agents SET node = NULL, epoch = 0 WHERE node IS NOT NULL OR epoch > 0
