-- Files that came with messages: a row for each, who refers to it, and blobs whose bytes are to be removed.
CREATE TABLE stored_files (
  id TEXT PRIMARY KEY,
  sha TEXT NOT NULL,
  blob TEXT NOT NULL,
  shown_blob TEXT,
  person TEXT NOT NULL,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  record TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX stored_files_sha ON stored_files (sha);
CREATE INDEX stored_files_blob ON stored_files (blob);
CREATE INDEX stored_files_shown ON stored_files (shown_blob) WHERE shown_blob IS NOT NULL;
CREATE INDEX stored_files_person ON stored_files (person, id, size);

CREATE TABLE file_holds (file TEXT NOT NULL, holder TEXT NOT NULL, PRIMARY KEY (file, holder)) WITHOUT ROWID;

-- Staged blobs belong to an upload under way. No row may use a doomed one any more.
CREATE TABLE blob_trash (blob TEXT PRIMARY KEY, due_at INTEGER NOT NULL, doomed INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX blob_trash_due ON blob_trash (due_at);
