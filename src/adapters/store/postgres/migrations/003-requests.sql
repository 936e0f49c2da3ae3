-- The ledger of HTTP requests: one row per Idempotency-Key, and one per token, conversation and body for the latest request
-- with that content. `agent` and `seq` name the message it posted, if it posted one.
CREATE TABLE requests (
  key text COLLATE "C" NOT NULL PRIMARY KEY,
  digest text,
  agent text COLLATE "C",
  seq bigint,
  finished boolean NOT NULL DEFAULT false,
  reply text,
  keep_until bigint NOT NULL
) PARTITION BY HASH (key);

DO $$
BEGIN
  FOR part IN 0..7 LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF requests FOR VALUES WITH (MODULUS 8, REMAINDER %s) WITH (fillfactor = 80)', 'requests_' || part, part);
  END LOOP;
END $$;

-- The latest message of a person, which repeated requests are compared with.
ALTER TABLE agents ADD COLUMN last_user_seq bigint NOT NULL DEFAULT 0;

-- Keys of requests were kept among the keys of messages; requests without a key, and what tokens used, as facts.
INSERT INTO requests (key, agent, seq, keep_until)
SELECT key, agent, seq, keep_until FROM dedupe WHERE key >= 'api:' AND key < 'api;' OR key >= 'hook:' AND key < 'hook;';
DELETE FROM dedupe WHERE key >= 'api:' AND key < 'api;' OR key >= 'hook:' AND key < 'hook;';
DELETE FROM facts WHERE key >= 'api.requests:' AND key < 'api.requests;' OR key >= 'api.spent:' AND key < 'api.spent;';
