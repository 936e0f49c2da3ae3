SELECT n, row FROM job_slots WHERE job = $1 AND n < $2 ORDER BY n DESC LIMIT $3
