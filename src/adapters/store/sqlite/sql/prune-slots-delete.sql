DELETE FROM job_slots WHERE n = ?
