-- Writes or removes a person's record, or neither (`rights.move`), and moves the revision of rights. It holds the lock of rights alone, so that nothing
-- begins afterwards that was decided before (M30).
CREATE OR REPLACE FUNCTION {{change_person}}(p jsonb) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_revision bigint;
  v_other record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('rights', 17));
  v_revision := coalesce((SELECT value::bigint FROM facts WHERE key = 'rights.revision'), 0);
  IF v_revision <> (p->>'expect')::bigint THEN
    RAISE EXCEPTION 'conflict:The rights of people have changed.' USING ERRCODE = 'RKREF';
  END IF;
  IF p->>'op' = 'person.put' THEN
    SELECT account, person INTO v_other FROM person_accounts
    WHERE account IN (SELECT jsonb_array_elements_text(p->'accounts')) AND person <> p->>'id' ORDER BY account LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'conflict:The account % belongs to %.', v_other.account, v_other.person USING ERRCODE = 'RKREF';
    END IF;
    INSERT INTO people (id, record) VALUES (p->>'id', p->>'record') ON CONFLICT (id) DO UPDATE SET record = excluded.record;
  ELSIF p->>'op' = 'person.remove' THEN
    DELETE FROM people WHERE id = p->>'id';
    IF NOT FOUND THEN RAISE EXCEPTION 'missing:There is no person %.', p->>'id' USING ERRCODE = 'RKREF'; END IF;
  END IF;
  DELETE FROM person_accounts WHERE person = p->>'id';
  INSERT INTO person_accounts (account, person)
    SELECT DISTINCT account, p->>'id' FROM jsonb_array_elements_text(coalesce(p->'accounts', '[]')) AS account;
  INSERT INTO facts (key, value) VALUES ('rights.revision', (v_revision + 1)::text)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value;
END $$
