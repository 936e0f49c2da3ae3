-- An agent or a delivery refers to files. All of them must exist, and belong to the person that is named; with ifKept the others
-- are left out.
CREATE OR REPLACE FUNCTION {{hold_files}}(p jsonb) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_holder text := 'delivery:' || (p->>'delivery');
  v_file text;
BEGIN
  IF v_holder IS NULL THEN
    SELECT 'agent:' || id INTO v_holder FROM agents
    WHERE id = coalesce(p->>'agentId', (SELECT agent FROM session_keys WHERE key = p->>'key'));
    IF v_holder IS NULL THEN RAISE EXCEPTION 'missing:There is no such agent.' USING ERRCODE = 'RKREF'; END IF;
  END IF;
  FOR v_file IN SELECT jsonb_array_elements_text(p->'files') LOOP
    IF NOT EXISTS (SELECT FROM stored_files WHERE id = v_file AND person = coalesce(p->>'person', person)) THEN
      IF (p->>'ifKept')::boolean AND NOT EXISTS (SELECT FROM stored_files WHERE id = v_file) THEN CONTINUE; END IF;
      RAISE EXCEPTION 'missing:There is no file %.', v_file USING ERRCODE = 'RKREF';
    END IF;
    INSERT INTO file_holds (file, holder) VALUES (v_file, v_holder) ON CONFLICT (file, holder) DO NOTHING;
  END LOOP;
END $$
