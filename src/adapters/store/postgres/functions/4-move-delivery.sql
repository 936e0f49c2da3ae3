-- Moves a delivery from the state the op names, so that of two senders one wins (L12). Returns the agent it belongs to.
CREATE OR REPLACE FUNCTION {{move_delivery}}(p jsonb, p_at bigint) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v record;
BEGIN
  SELECT agent, state, attempts INTO v FROM deliveries WHERE id = p->>'id' FOR UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'missing:There is no delivery %.', p->>'id' USING ERRCODE = 'RKREF'; END IF;
  IF v.state <> p->>'from' OR v.attempts <> (p->>'attempts')::bigint THEN
    RAISE EXCEPTION 'conflict:Delivery % is % after % attempts.', p->>'id', v.state, v.attempts USING ERRCODE = 'RKREF';
  END IF;
  UPDATE deliveries d SET
    n = CASE WHEN p ? 'toTail' THEN nextval('delivery_numbers') ELSE d.n END,
    state = p->>'to',
    attempts = CASE WHEN p->>'to' = 'sending' THEN d.attempts + 1 ELSE d.attempts END,
    node = coalesce((p->>'node')::bigint, d.node),
    next_at = coalesce((p->>'nextAt')::bigint, p_at),
    created_at = CASE WHEN p ? 'toTail' THEN p_at ELSE d.created_at END,
    ended_at = CASE WHEN p->>'to' IN ('sent', 'suppressed', 'failed', 'unconfirmed') THEN p_at END,
    target = CASE WHEN p ? 'toTail' THEN coalesce(p->>'target', d.target) ELSE d.target END,
    payload = CASE WHEN p ? 'toTail' THEN coalesce(p->>'payload', d.payload) ELSE d.payload END,
    reason = p->>'reason',
    receipt = coalesce(p->>'receipt', d.receipt)
  WHERE d.id = p->>'id' AND d.agent = v.agent;
  RETURN v.agent;
END $$
