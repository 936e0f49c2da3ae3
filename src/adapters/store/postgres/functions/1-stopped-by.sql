-- The agent whose stop mark forbids one with this parent to continue: the nearest stopped ancestor (M20).
CREATE OR REPLACE FUNCTION {{stopped_by}}(p_parent text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_id text := p_parent;
  v_parent text;
  v_stopped text;
BEGIN
  FOR depth IN 1..64 LOOP
    IF v_id IS NULL THEN RETURN NULL; END IF;
    SELECT parent, stopped INTO v_parent, v_stopped FROM agents WHERE id = v_id;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF v_stopped IS NOT NULL THEN RETURN v_id; END IF;
    v_id := v_parent;
  END LOOP;
  RETURN NULL;
END $$
