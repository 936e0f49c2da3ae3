SELECT row FROM job_slots WHERE job = ? AND slot = ?
