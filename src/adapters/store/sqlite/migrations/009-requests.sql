-- The ledger of HTTP requests: one row per Idempotency-Key, and one per token, conversation and body for the latest request
-- with that content. `agent` and `seq` name the message it posted, if it posted one.
CREATE TABLE requests (
  key TEXT PRIMARY KEY,
  digest TEXT,
  agent INTEGER,
  seq INTEGER,
  finished INTEGER NOT NULL DEFAULT 0,
  reply TEXT,
  keep_until INTEGER NOT NULL
) WITHOUT ROWID;

-- The latest message of a person, which repeated requests are compared with.
ALTER TABLE agents ADD COLUMN last_user_seq INTEGER NOT NULL DEFAULT 0;

-- Keys of requests were kept among the keys of messages; requests without a key, and what tokens used, as facts.
INSERT INTO requests (key, agent, seq, keep_until)
SELECT key, agent, seq, keep_until FROM dedupe WHERE key >= 'api:' AND key < 'api;' OR key >= 'hook:' AND key < 'hook;';
DELETE FROM dedupe WHERE key >= 'api:' AND key < 'api;' OR key >= 'hook:' AND key < 'hook;';
DELETE FROM facts WHERE key >= 'api.requests:' AND key < 'api.requests;' OR key >= 'api.spent:' AND key < 'api.spent;';
