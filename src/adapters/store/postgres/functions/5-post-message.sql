-- Puts a message into an inbox, or recognises one that was accepted before (M5). The sequence comes from the agent's own
-- row, which is locked until the commit (M3).
CREATE OR REPLACE FUNCTION {{post_message}}(p jsonb, p_at bigint, p_now bigint) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v agents;
  v_found boolean;
  v_before record;
  v_claim bigint := (p->>'claim')::bigint;
  v_at bigint := (p->>'at')::bigint;
  v_free boolean;
  v_holder jsonb := '{}';
  v_said jsonb;
BEGIN
  IF p ? 'to' THEN
    SELECT * INTO v FROM agents WHERE id = p->>'to' FOR UPDATE;
    IF NOT FOUND THEN RAISE EXCEPTION 'missing:There is no agent %.', p->>'to' USING ERRCODE = 'RKREF'; END IF;
    v_found := true;
  ELSE
    SELECT a.* INTO v FROM session_keys k JOIN agents a ON a.id = k.agent WHERE k.key = p->>'key' FOR UPDATE OF a;
    v_found := FOUND;
  END IF;
  IF v_found AND v.removed THEN RAISE EXCEPTION 'missing:Agent % was removed.', v.id USING ERRCODE = 'RKREF'; END IF;
  IF p ? 'dedupe' THEN
    -- A forgotten person's keys are digests.
    SELECT agent, seq INTO v_before FROM dedupe
    WHERE key IN (p->>'dedupe', '#' || encode(sha256(convert_to(p->>'dedupe', 'UTF8')), 'hex')) LIMIT 1;
    IF FOUND THEN
      RETURN jsonb_build_object('op', 'message.post', 'agentId', v_before.agent, 'seq', v_before.seq, 'duplicate', true, 'created', false);
    END IF;
  END IF;
  IF p ? 'request' THEN
    v_said := {{repeated_request}}(p, p_at);
    IF v_said IS NOT NULL THEN RETURN v_said; END IF;
  END IF;
  IF NOT v_found THEN
    IF NOT p ? 'seed' THEN RAISE EXCEPTION 'missing:There is no agent %.', p->>'key' USING ERRCODE = 'RKREF'; END IF;
    v := {{insert_agent}}(p->'seed');
  END IF;
  IF v.waiting >= (p->>'maxWaiting')::bigint THEN
    RAISE EXCEPTION 'full:% messages wait at agent %, as many as may wait.', v.waiting, v.id USING ERRCODE = 'RKREF';
  END IF;
  IF p ? 'dedupe' THEN
    INSERT INTO dedupe (key, agent, seq, keep_until) VALUES (p->>'dedupe', v.id, v.next_seq, (p->>'keep')::bigint);
  END IF;
  IF p ? 'request' THEN
    INSERT INTO requests (key, digest, agent, seq, keep_until)
    VALUES (p->>'request', p->>'digest', v.id, v.next_seq, (p->>'requestKeep')::bigint)
    ON CONFLICT (key) DO UPDATE SET digest = excluded.digest, agent = excluded.agent, seq = excluded.seq, finished = false,
      reply = NULL, keep_until = excluded.keep_until;
  END IF;
  INSERT INTO messages (agent, seq, state, urgent, is_reset, accepted_at, message)
  VALUES (v.id, v.next_seq, 'waiting', p ? 'urgent', p ? 'reset', v_at, p->>'message');
  v_free := v_claim IS NOT NULL AND v.node IS DISTINCT FROM v_claim
    AND (v.node IS NULL OR NOT EXISTS (SELECT FROM nodes WHERE node = v.node AND gone <> 1 AND lease_until > p_now));
  IF v_free THEN
    v.node := v_claim;
    v.epoch := v.epoch + 1;
  END IF;
  UPDATE agents SET next_seq = v.next_seq + 1, waiting = v.waiting + 1, busy = true, node = v.node, epoch = v.epoch,
    last_user_seq = CASE WHEN p ? 'person' THEN v.next_seq ELSE last_user_seq END,
    last_human_at = CASE WHEN p ? 'human' AND kind = 'user' THEN greatest(last_human_at, v_at) ELSE last_human_at END
  WHERE id = v.id;
  IF v.node IS NOT NULL AND (v.node = v_claim OR EXISTS (SELECT FROM nodes WHERE node = v.node AND gone <> 1 AND lease_until > p_now)) THEN
    v_holder := jsonb_build_object('holder', jsonb_build_object('node', v.node, 'epoch', v.epoch));
  END IF;
  RETURN jsonb_build_object('op', 'message.post', 'agentId', v.id, 'seq', v.next_seq, 'duplicate', false, 'created', NOT v_found) || v_holder
    || CASE WHEN v.waiting = 0 THEN '{"alone": true}'::jsonb ELSE '{}' END;
END $$
