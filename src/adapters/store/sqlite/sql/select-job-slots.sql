SELECT n, row FROM job_slots WHERE job = ? AND n < ? ORDER BY n DESC LIMIT ?
