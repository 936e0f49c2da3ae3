-- What became of each due time of each job: one row per slot, or per range of skipped ones.
CREATE TABLE job_slots (n INTEGER PRIMARY KEY, job TEXT NOT NULL, slot TEXT NOT NULL, at INTEGER NOT NULL, row TEXT NOT NULL);
CREATE UNIQUE INDEX job_slots_slot ON job_slots (job, slot);
CREATE INDEX job_slots_newest ON job_slots (job, n);
