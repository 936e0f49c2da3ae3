-- Applies a group of changes one after the other, in one transaction and one round trip. `p_alone`: each change has a
-- savepoint of its own. Without it the first change that is refused ends the whole group, which the caller then sends again
-- with `p_alone`. So the usual group costs no savepoints.
CREATE OR REPLACE FUNCTION {{apply_changes}}(
  p_changes jsonb, p_names text[], p_agents text[], p_keys text[], p_runs text[], p_parents text[], p_stops text[],
  p_budgets text[], p_reservations text[], p_alone boolean, p_clock boolean
) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c jsonb;
  v_results jsonb[] := '{}';
BEGIN
  PERFORM {{lock_group}}(p_names, p_agents, p_keys, p_runs, p_parents, p_stops, p_budgets, p_reservations);
  FOR c IN SELECT value FROM jsonb_array_elements(p_changes) LOOP
    IF p_alone THEN
      BEGIN
        v_results := array_append(v_results, {{apply_change}}(c, p_clock));
      EXCEPTION
        WHEN SQLSTATE 'RKREF' THEN
          v_results := array_append(v_results,
            jsonb_build_object('refused', split_part(SQLERRM, ':', 1), 'detail', substr(SQLERRM, strpos(SQLERRM, ':') + 1)));
        WHEN unique_violation THEN
          v_results := array_append(v_results, jsonb_build_object('refused', 'conflict', 'detail', SQLERRM));
        WHEN SQLSTATE 'RKAGN' THEN
          RAISE;
        WHEN query_canceled OR deadlock_detected OR serialization_failure OR lock_not_available OR disk_full OR admin_shutdown OR crash_shutdown THEN
          RAISE;
        WHEN OTHERS THEN
          v_results := array_append(v_results, jsonb_build_object('error', SQLERRM, 'code', SQLSTATE));
      END;
    ELSE
      v_results := array_append(v_results, {{apply_change}}(c, p_clock));
    END IF;
  END LOOP;
  RETURN to_jsonb(v_results);
END $$
