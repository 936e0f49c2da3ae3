-- How long an answer may be under a limit, at most the wanted length; negative if not even the prompt fits. The same
-- arithmetic as `decideBudget`.
CREATE OR REPLACE FUNCTION {{longest_answer}}(p_call jsonb, p_tokens float8, p_micros float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_prompt float8 := (p_call->>'prompt')::float8;
  v_read float8 := (p_call->>'read')::float8;
  v_write float8 := (p_call->>'write')::float8;
  v_longest float8 := (p_call->>'maxTokens')::float8;
  v_answer float8;
BEGIN
  IF p_tokens IS NOT NULL THEN v_longest := least(v_longest, p_tokens - v_prompt); END IF;
  IF p_micros IS NULL OR (v_read = 0 AND v_write = 0) THEN RETURN v_longest; END IF;
  IF ceil(v_prompt * v_read + v_longest * v_write) <= p_micros THEN RETURN v_longest; END IF;
  IF v_write = 0 THEN RETURN -1; END IF;
  v_answer := floor((p_micros - v_prompt * v_read) / v_write);
  IF ceil(v_prompt * v_read + v_answer * v_write) <= p_micros THEN RETURN v_answer; END IF;
  RETURN v_answer - 1;
END $$
