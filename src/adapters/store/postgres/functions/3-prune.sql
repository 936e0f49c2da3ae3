-- Removes one bounded portion of rows older than their limit, walking a table by its key from where the last portion ended.
-- Rows that have not ended stay at any age.
CREATE OR REPLACE FUNCTION {{prune}}(p_what text, p_before bigint, p_limit bigint, p_after text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_removed bigint;
  v_seen bigint;
  v_next text;
BEGIN
  IF p_what = 'messages' THEN
    WITH walk AS MATERIALIZED (
      SELECT agent, seq, settled_at AS ended FROM messages
      WHERE (agent, seq) > (coalesce(split_part(p_after, '/', 1), ''), coalesce(split_part(p_after, '/', 2), '0')::bigint)
      ORDER BY agent, seq LIMIT p_limit
    ), gone AS (
      DELETE FROM messages m USING walk w WHERE m.agent = w.agent AND m.seq = w.seq AND w.ended < p_before RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), (SELECT agent || '/' || seq FROM walk ORDER BY agent DESC, seq DESC LIMIT 1)
    INTO v_removed, v_seen, v_next FROM walk;
  ELSIF p_what = 'runs' THEN
    WITH walk AS MATERIALIZED (
      SELECT id, agent, ended_at AS ended FROM runs WHERE id > coalesce(p_after, '') ORDER BY id LIMIT p_limit
    ), gone AS (
      DELETE FROM runs r USING walk w WHERE r.id = w.id AND r.agent = w.agent AND w.ended < p_before RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), max(id) INTO v_removed, v_seen, v_next FROM walk;
  ELSIF p_what = 'deliveries' THEN
    WITH walk AS MATERIALIZED (
      SELECT id, agent, ended_at AS ended FROM deliveries WHERE id > coalesce(p_after, '') ORDER BY id LIMIT p_limit
    ), gone AS (
      DELETE FROM deliveries d USING walk w WHERE d.id = w.id AND d.agent = w.agent AND w.ended < p_before RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), max(id) INTO v_removed, v_seen, v_next FROM walk;
  ELSIF p_what = 'dedupe' THEN
    WITH walk AS MATERIALIZED (
      SELECT key, agent, seq, keep_until FROM dedupe WHERE key > coalesce(p_after, '') ORDER BY key LIMIT p_limit
    ), gone AS (
      DELETE FROM dedupe d USING walk w WHERE d.key = w.key AND w.keep_until < p_before AND NOT EXISTS (
        SELECT FROM messages m WHERE m.agent = w.agent AND m.seq = w.seq AND m.state IN ('waiting', 'taken')
      ) RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), max(key) INTO v_removed, v_seen, v_next FROM walk;
  ELSIF p_what = 'requests' THEN
    WITH walk AS MATERIALIZED (
      SELECT key, keep_until FROM requests WHERE key > coalesce(p_after, '') ORDER BY key LIMIT p_limit
    ), gone AS (
      DELETE FROM requests r USING walk w WHERE r.key = w.key AND w.keep_until < p_before RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), max(key) INTO v_removed, v_seen, v_next FROM walk;
  ELSIF p_what = 'slots' THEN
    WITH walk AS MATERIALIZED (
      SELECT n, at FROM job_slots WHERE n > coalesce(p_after, '0')::bigint ORDER BY n LIMIT p_limit
    ), gone AS (
      DELETE FROM job_slots s USING walk w WHERE s.n = w.n AND w.at < p_before RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), max(n)::text INTO v_removed, v_seen, v_next FROM walk;
  ELSIF p_what = 'audit' THEN
    WITH walk AS MATERIALIZED (
      SELECT n, at FROM audit WHERE n > coalesce(p_after, '0')::bigint ORDER BY n LIMIT p_limit
    ), gone AS (
      DELETE FROM audit a USING walk w WHERE a.n = w.n AND w.at < p_before RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), max(n)::text INTO v_removed, v_seen, v_next FROM walk;
  ELSIF p_what = 'approvals' THEN
    WITH walk AS MATERIALIZED (
      SELECT n, ended_at AS ended FROM approvals WHERE n > coalesce(p_after, '0')::bigint ORDER BY n LIMIT p_limit
    ), gone AS (
      DELETE FROM approvals a USING walk w WHERE a.n = w.n AND w.ended < p_before RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), max(n)::text INTO v_removed, v_seen, v_next FROM walk;
  ELSIF p_what = 'questions' THEN
    WITH walk AS MATERIALIZED (
      SELECT key, (value::jsonb->>'askedAt')::bigint AS at FROM facts
      WHERE key > coalesce(p_after, '') AND key >= 'question.' AND key < 'question.~' ORDER BY key LIMIT p_limit
    ), gone AS (
      DELETE FROM facts f USING walk w WHERE f.key = w.key AND w.at < p_before RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), max(key) INTO v_removed, v_seen, v_next FROM walk;
  ELSIF p_what = 'changes' THEN
    WITH walk AS MATERIALIZED (
      SELECT id, at FROM changes WHERE id > coalesce(p_after, '') ORDER BY id LIMIT p_limit
    ), gone AS (
      DELETE FROM changes c USING walk w WHERE c.id = w.id AND w.at < p_before RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone), count(*), max(id) INTO v_removed, v_seen, v_next FROM walk;
  ELSE
    RAISE EXCEPTION 'Nothing called % can be pruned.', p_what;
  END IF;
  RETURN jsonb_build_object('op', 'prune', 'removed', v_removed)
    || CASE WHEN v_seen = p_limit AND v_next IS NOT NULL THEN jsonb_build_object('next', v_next) ELSE '{}' END;
END $$
