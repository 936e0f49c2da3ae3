UPDATE job_slots SET row = ? WHERE job = ? AND slot = ?
