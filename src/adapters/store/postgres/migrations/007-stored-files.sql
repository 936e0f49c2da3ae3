-- Files that came with messages: a row for each, who refers to it, and blobs whose bytes are to be removed.
CREATE TABLE stored_files (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  sha text COLLATE "C" NOT NULL,
  blob text COLLATE "C" NOT NULL,
  shown_blob text COLLATE "C",
  person text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  created_at bigint NOT NULL,
  record text NOT NULL
);
CREATE INDEX stored_files_sha ON stored_files (sha);
CREATE INDEX stored_files_blob ON stored_files (blob);
CREATE INDEX stored_files_shown ON stored_files (shown_blob) WHERE shown_blob IS NOT NULL;
CREATE INDEX stored_files_person ON stored_files (person, id, size);

CREATE TABLE file_holds (file text COLLATE "C" NOT NULL, holder text COLLATE "C" NOT NULL, PRIMARY KEY (file, holder));

-- Staged blobs belong to an upload under way. No row may use a doomed one any more.
CREATE TABLE blob_trash (blob text COLLATE "C" NOT NULL PRIMARY KEY, due_at bigint NOT NULL, doomed boolean NOT NULL DEFAULT false);
CREATE INDEX blob_trash_due ON blob_trash (due_at);
