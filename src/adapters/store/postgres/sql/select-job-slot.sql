SELECT row FROM job_slots WHERE job = $1 AND slot = $2
