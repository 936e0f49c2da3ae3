-- Creates an agent with the first lines of its history. Refused if an ancestor is stopped (M20).
CREATE OR REPLACE FUNCTION {{insert_agent}}(p jsonb) RETURNS agents LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v agents;
  v_stopped text;
BEGIN
  IF p ? 'parent' THEN
    v_stopped := {{stopped_by}}(p->>'parent');
    IF v_stopped IS NOT NULL THEN
      RAISE EXCEPTION 'stopped:Agent % was stopped.', v_stopped USING ERRCODE = 'RKREF';
    END IF;
  END IF;
  INSERT INTO agents (id, session_key, profile, person, kind, parent, descriptor, created_at, session_id, next_pos, leaf)
  VALUES (p->>'id', p->>'key', p->>'profile', p->>'person', p->>'kind', p->>'parent', p->>'descriptor', (p->>'at')::bigint, p->>'session',
    jsonb_array_length(p->'lines'), p->>'leaf')
  RETURNING * INTO v;
  INSERT INTO states (agent, state) VALUES (v.id, p->>'state');
  INSERT INTO session_keys (key, agent) VALUES (v.session_key, v.id);
  INSERT INTO entries (agent, pos, line)
    SELECT v.id, ord - 1, line FROM jsonb_array_elements_text(p->'lines') WITH ORDINALITY AS lines (line, ord);
  RETURN v;
END $$
