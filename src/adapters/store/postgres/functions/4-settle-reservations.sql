-- The results replace reservations. Without a result the reserved amount is charged, as an estimate. Reservations that no
-- longer exist were settled before. Returns how many existed.
CREATE OR REPLACE FUNCTION {{settle_reservations}}(p_ids text[], p_tokens bigint, p_micros bigint, p_estimated boolean, p_at bigint)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_count bigint;
BEGIN
  WITH gone AS (
    DELETE FROM reservations WHERE id = ANY (p_ids) RETURNING keys, tokens, micros
  ), sums AS (
    SELECT key, sum(tokens) AS tokens, sum(micros) AS micros, sum(coalesce(p_tokens, tokens)) AS paid_tokens, sum(coalesce(p_micros, micros)) AS paid_micros
    FROM gone, unnest(gone.keys) AS key GROUP BY key
  ), charged AS (
    UPDATE budgets b SET
      spent_tokens = b.spent_tokens + s.paid_tokens,
      spent_micros = b.spent_micros + s.paid_micros,
      reserved_tokens = b.reserved_tokens - s.tokens,
      reserved_micros = b.reserved_micros - s.micros,
      estimated_tokens = b.estimated_tokens + CASE WHEN p_estimated OR p_tokens IS NULL THEN s.paid_tokens ELSE 0 END,
      estimated_micros = b.estimated_micros + CASE WHEN p_estimated OR p_tokens IS NULL THEN s.paid_micros ELSE 0 END,
      at = p_at
    FROM sums s WHERE b.key = s.key
  )
  SELECT count(*) INTO v_count FROM gone;
  RETURN v_count;
END $$
