-- Erases everything of an agent but an empty row; dedupe keys become digests. See src/adapters/store/sqlite/erase.ts.
CREATE OR REPLACE FUNCTION {{erase_agent}}(p jsonb, p_at bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v agents;
BEGIN
  SELECT * INTO v FROM agents WHERE id = p->>'agentId' FOR UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'missing:There is no agent %.', p->>'agentId' USING ERRCODE = 'RKREF'; END IF;
  DELETE FROM file_holds WHERE holder IN (SELECT 'delivery:' || id FROM deliveries WHERE agent = v.id) OR holder = 'agent:' || v.id;
  DELETE FROM reservations WHERE run_id IN (SELECT id FROM runs WHERE agent = v.id);
  DELETE FROM deliveries WHERE agent = v.id;
  DELETE FROM entries WHERE agent = v.id;
  DELETE FROM messages WHERE agent = v.id;
  DELETE FROM runs WHERE agent = v.id;
  DELETE FROM session_keys WHERE key = v.session_key AND agent = v.id;
  DELETE FROM approvals WHERE agent = v.id;
  DELETE FROM waits WHERE v.id IN (waiter, awaited);
  DELETE FROM swarm_contacts WHERE v.id IN (contact, agent);
  DELETE FROM subagent_runs WHERE requester = v.session_key OR position(v.id IN record) > 0;
  DELETE FROM budgets WHERE key IN ('agent:' || v.id, 'tree:' || v.id);
  DELETE FROM budget_told WHERE agent = v.id OR key IN ('agent:' || v.id, 'tree:' || v.id);
  UPDATE dedupe SET key = '#' || encode(sha256(convert_to(key, 'UTF8')), 'hex') WHERE agent = v.id AND NOT starts_with(key, '#');
  UPDATE requests SET reply = p->>'reply' WHERE agent = v.id AND reply IS NOT NULL;
  UPDATE states SET state = p->>'state' WHERE agent = v.id;
  UPDATE agents SET session_key = 'forgotten:' || id, person = p->>'tombstone', kind = 'system', last_human_at = NULL, next_pos = 0,
    node = NULL, epoch = epoch + 1, run_id = NULL, suspended = false, busy = false, waiting = 0, cursor = next_seq - 1, stop_seq = next_seq, removed = true,
    descriptor = '{"type":"system","tag":"forgotten"}', stopped = left(p->>'mark', -1) || ',"seq":' || next_seq || '}'
  WHERE id = v.id;
END $$
