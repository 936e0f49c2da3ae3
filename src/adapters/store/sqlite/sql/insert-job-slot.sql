INSERT INTO job_slots (job, slot, at, row) VALUES (?, ?, ?, ?) ON CONFLICT (job, slot) DO NOTHING
