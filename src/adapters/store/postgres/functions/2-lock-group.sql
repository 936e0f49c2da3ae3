-- Locks everything a group of changes will write, always in the same order: names, stop locks, agents' rows, each sorted;
-- so groups wait for each other but never in a cycle (M3).
CREATE OR REPLACE FUNCTION {{lock_group}}(
  p_names text[], p_agents text[], p_keys text[], p_runs text[], p_parents text[], p_stops text[],
  p_budgets text[], p_reservations text[]
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_agents text[] := p_agents;
  v_parents text[];
  v_above text[] := p_parents;
  v_lock record;
BEGIN
  IF cardinality(p_names) > 0 THEN
    PERFORM pg_advisory_xact_lock(h) FROM (SELECT DISTINCT hashtextextended(name, 7) AS h FROM unnest(p_names) AS name ORDER BY 1) AS sorted;
  END IF;
  IF cardinality(p_budgets) > 0 OR cardinality(p_reservations) > 0 THEN
    PERFORM pg_advisory_xact_lock(h) FROM (
      SELECT DISTINCT hashtextextended(key, 13) AS h FROM (
        SELECT unnest(p_budgets) AS key
        UNION ALL SELECT unnest(keys) FROM reservations WHERE id = ANY (p_reservations) OR run_id = ANY (p_reservations) OR '*' = ANY (p_reservations)
      ) AS wanted ORDER BY 1
    ) AS sorted;
  END IF;
  IF cardinality(p_keys) > 0 THEN
    v_agents := v_agents || ARRAY(SELECT agent FROM session_keys WHERE key = ANY (p_keys));
  END IF;
  IF cardinality(p_runs) > 0 THEN
    v_agents := v_agents || ARRAY(SELECT agent FROM runs WHERE id = ANY (p_runs));
  END IF;
  -- A spawn, start or step shares the stop locks of all its ancestors; a stop holds its own lock exclusively (M20).
  v_parents := ARRAY(SELECT parent FROM agents WHERE id = ANY (v_agents) AND parent IS NOT NULL) || p_parents;
  WHILE cardinality(v_parents) > 0 AND cardinality(v_above) < 4096 LOOP
    v_above := v_above || v_parents;
    v_parents := ARRAY(SELECT parent FROM agents WHERE id = ANY (v_parents) AND parent IS NOT NULL AND parent <> ALL (v_above));
  END LOOP;
  IF cardinality(v_above) > 0 OR cardinality(p_stops) > 0 THEN
    FOR v_lock IN
      SELECT hashtextextended(id, 11) AS h, bool_or(alone) AS alone
      FROM (SELECT unnest(v_above) AS id, false AS alone UNION ALL SELECT unnest(p_stops), true) AS wanted
      GROUP BY 1 ORDER BY 1
    LOOP
      IF v_lock.alone THEN PERFORM pg_advisory_xact_lock(v_lock.h); ELSE PERFORM pg_advisory_xact_lock_shared(v_lock.h); END IF;
    END LOOP;
  END IF;
  IF cardinality(v_agents) > 0 THEN
    PERFORM 1 FROM agents WHERE id = ANY (v_agents) ORDER BY id FOR UPDATE;
  END IF;
END $$
