-- The message of the earlier request that this one repeats, as the result of a post; NULL if it is new (M18). Refuses a key
-- that belongs to another request. The rule of requests without a key is `joinsEarlier` in src/core/store/request.ts.
CREATE OR REPLACE FUNCTION {{repeated_request}}(p jsonb, p_at bigint) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r requests;
  v_later boolean;
  v_removed boolean;
BEGIN
  SELECT * INTO r FROM requests WHERE key = p->>'request' AND keep_until > p_at;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF p ? 'digest' AND r.digest <> p->>'digest' THEN
    RAISE EXCEPTION 'conflict:The key belongs to another request.' USING ERRCODE = 'RKREF';
  END IF;
  IF r.agent IS NULL THEN RETURN NULL; END IF;
  IF NOT p ? 'digest' THEN
    SELECT last_user_seq > r.seq, removed INTO v_later, v_removed FROM agents WHERE id = r.agent;
    IF v_removed THEN RETURN NULL; END IF;
    IF p ? 'retry' THEN
      IF r.finished AND v_later THEN RETURN NULL; END IF;
    ELSIF r.finished THEN RETURN NULL;
    ELSIF v_later AND NOT EXISTS (
      SELECT FROM messages m WHERE m.agent = r.agent AND m.seq = r.seq AND (m.state IN ('waiting', 'taken')
        OR m.state = 'merged' AND EXISTS (SELECT FROM runs WHERE id = m.run_id AND agent = r.agent AND state = 'open'))
    ) THEN RETURN NULL;
    END IF;
  END IF;
  RETURN jsonb_build_object('op', 'message.post', 'agentId', r.agent, 'seq', r.seq, 'duplicate', true, 'created', false);
END $$
