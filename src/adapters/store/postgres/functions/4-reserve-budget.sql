-- Reserves what a model call may cost on every row, or returns which limit forbids it. The caller has locked the rows, so two
-- calls at once never reserve the same money (L8). A row that is used up counts before one that is only waiting.
CREATE OR REPLACE FUNCTION {{reserve_budget}}(p jsonb, p_agent text, p_at bigint) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c jsonb := p->'call';
  r record;
  v_before record;
  v_least float8 := least((c->>'leastTokens')::float8, (c->>'maxTokens')::float8);
  v_decent float8 := least(4096, (c->>'maxTokens')::float8);
  v_answer float8 := (c->>'maxTokens')::float8;
  v_best float8;
  v_now float8;
  v_tokens float8;
  v_micros float8;
  v_waiting text;
BEGIN
  SELECT tokens, micros INTO v_before FROM reservations WHERE id = p->>'id';
  IF FOUND THEN
    RETURN jsonb_build_object('op', 'budget.reserve', 'told', false, 'decision', jsonb_build_object('kind', 'go',
      'reserved', jsonb_build_object('tokens', v_before.tokens, 'micros', v_before.micros), 'maxTokens', v_before.tokens - (c->>'prompt')::bigint));
  END IF;
  FOR r IN
    SELECT w.value->>'key' AS key, (w.value->>'adds')::bigint AS adds, (w.value->'limit'->>'tokens')::float8 AS tokens, (w.value->'limit'->>'micros')::float8 AS micros,
      coalesce(b.spent_tokens, 0) AS spent_tokens, coalesce(b.spent_micros, 0) AS spent_micros, coalesce(b.reserved_tokens, 0) AS reserved_tokens,
      coalesce(b.reserved_micros, 0) AS reserved_micros, coalesce(b.lifted_tokens, 0) AS lifted_tokens, coalesce(b.lifted_micros, 0) AS lifted_micros
    FROM jsonb_array_elements(p->'rows') WITH ORDINALITY AS w (value, ord) LEFT JOIN budgets b ON b.key = w.value->>'key' ORDER BY w.ord
  LOOP
    v_tokens := r.tokens + r.lifted_tokens;
    v_micros := r.micros + r.lifted_micros;
    -- A row that counts messages, as tokens.
    IF r.adds IS NOT NULL THEN
      IF r.spent_tokens + r.adds > coalesce(v_tokens, 0) THEN
        RETURN jsonb_build_object('op', 'budget.reserve',
          'told', EXISTS (SELECT FROM budget_told WHERE key = r.key AND agent = p_agent),
          'decision', jsonb_build_object('kind', 'reached', 'key', r.key,
            'allowed', jsonb_strip_nulls(jsonb_build_object('tokens', v_tokens, 'micros', v_micros)),
            'spent', jsonb_build_object('tokens', r.spent_tokens, 'micros', r.spent_micros),
            'needed', jsonb_build_object('tokens', r.adds, 'micros', 0)));
      END IF;
      CONTINUE;
    END IF;
    v_best := {{longest_answer}}(c, v_tokens - r.spent_tokens, v_micros - r.spent_micros);
    IF v_best < v_least THEN
      RETURN jsonb_build_object('op', 'budget.reserve',
        'told', EXISTS (SELECT FROM budget_told WHERE key = r.key AND agent = p_agent),
        'decision', jsonb_build_object('kind', 'reached', 'key', r.key,
          'allowed', jsonb_strip_nulls(jsonb_build_object('tokens', v_tokens, 'micros', v_micros)),
          'spent', jsonb_build_object('tokens', r.spent_tokens, 'micros', r.spent_micros),
          'needed', jsonb_build_object('tokens', (c->>'prompt')::float8 + v_least,
            'micros', ceil((c->>'prompt')::float8 * (c->>'read')::float8 + v_least * (c->>'write')::float8))));
    END IF;
    v_now := {{longest_answer}}(c, v_tokens - r.spent_tokens - r.reserved_tokens, v_micros - r.spent_micros - r.reserved_micros);
    IF v_now < v_least OR (v_now < v_decent AND v_now < v_best) THEN v_waiting := coalesce(v_waiting, r.key); END IF;
    v_answer := least(v_answer, v_now);
  END LOOP;
  IF v_waiting IS NOT NULL THEN
    RETURN jsonb_build_object('op', 'budget.reserve', 'told', false, 'decision', jsonb_build_object('kind', 'wait', 'key', v_waiting));
  END IF;
  v_tokens := (c->>'prompt')::float8 + v_answer;
  v_micros := ceil((c->>'prompt')::float8 * (c->>'read')::float8 + v_answer * (c->>'write')::float8);
  INSERT INTO budgets (key, reserved_tokens, reserved_micros, at)
    SELECT w->>'key', v_tokens::bigint, v_micros::bigint, p_at FROM jsonb_array_elements(p->'rows') AS w WHERE w->>'adds' IS NULL
  ON CONFLICT (key) DO UPDATE SET reserved_tokens = budgets.reserved_tokens + excluded.reserved_tokens,
    reserved_micros = budgets.reserved_micros + excluded.reserved_micros, at = excluded.at;
  INSERT INTO budgets (key, spent_tokens, at)
    SELECT w->>'key', (w->>'adds')::bigint, p_at FROM jsonb_array_elements(p->'rows') AS w WHERE w->>'adds' IS NOT NULL
  ON CONFLICT (key) DO UPDATE SET spent_tokens = budgets.spent_tokens + excluded.spent_tokens, at = excluded.at;
  INSERT INTO reservations (id, run_id, keys, tokens, micros, at)
  VALUES (p->>'id', p->>'runId', ARRAY(SELECT w->>'key' FROM jsonb_array_elements(p->'rows') WITH ORDINALITY AS x (w, ord) WHERE w->>'adds' IS NULL ORDER BY ord),
    v_tokens::bigint, v_micros::bigint, p_at);
  RETURN jsonb_build_object('op', 'budget.reserve', 'told', false, 'decision', jsonb_build_object('kind', 'go',
    'reserved', jsonb_build_object('tokens', v_tokens, 'micros', v_micros), 'maxTokens', v_answer));
END $$
