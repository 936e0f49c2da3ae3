-- Claims agents that have work and no live owner; each claim raises the epoch. Rows that another transaction has locked are
-- skipped. A node whose process has ended has lost its advisory lock and is retired first (M23).
CREATE OR REPLACE FUNCTION {{claim_agents}}(p jsonb, p_now bigint) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_node bigint := (p->>'node')::bigint;
  v_after bigint := 0;
  v_living bigint[];
  v_claims jsonb;
BEGIN
  PERFORM {{retire_dead}}(v_node);
  v_living := ARRAY(SELECT node FROM nodes WHERE gone <> 1 AND lease_until > p_now AND node <> v_node);
  IF p ? 'after' THEN v_after := coalesce((SELECT no FROM agents WHERE id = p->>'after'), 0); END IF;
  WITH picked AS MATERIALIZED (
    SELECT id, no FROM agents
    WHERE busy AND no > v_after
      AND (node IS NULL OR (node = v_node AND (p->>'own')::boolean) OR (node <> v_node AND node <> ALL (v_living)))
    ORDER BY no LIMIT (p->>'limit')::bigint
    FOR UPDATE SKIP LOCKED
  ), given AS (
    UPDATE agents a SET node = v_node, epoch = CASE WHEN a.node = v_node THEN a.epoch ELSE a.epoch + 1 END
    FROM picked WHERE a.id = picked.id RETURNING a.id, a.epoch, a.no
  )
  SELECT jsonb_agg(jsonb_build_object('agentId', id, 'epoch', epoch) ORDER BY no) INTO v_claims FROM given;
  RETURN jsonb_build_object('op', 'agents.claim', 'claims', coalesce(v_claims, '[]'::jsonb));
END $$
