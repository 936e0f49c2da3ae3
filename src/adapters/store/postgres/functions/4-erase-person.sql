-- Erases what names people; the audit log and answers keep the tombstone. See src/adapters/store/sqlite/erase.ts.
CREATE OR REPLACE FUNCTION {{erase_person}}(p jsonb) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_people text[] := ARRAY(SELECT jsonb_array_elements_text(p->'people'));
  v_jobs text[] := ARRAY(SELECT jsonb_array_elements_text(p->'jobs'));
  v_budgets text[] := ARRAY(SELECT jsonb_array_elements_text(p->'budgets'));
  v_tombstone text := p->>'tombstone';
  v_person text;
  v_word text;
BEGIN
  DELETE FROM people WHERE id = ANY (v_people);
  DELETE FROM person_accounts WHERE person = ANY (v_people) OR account = ANY (v_people);
  DELETE FROM jobs WHERE id = ANY (v_jobs);
  DELETE FROM job_slots WHERE job = ANY (v_jobs);
  DELETE FROM budgets WHERE key = ANY (v_budgets);
  DELETE FROM budget_told WHERE key = ANY (v_budgets);
  UPDATE approvals SET decided_by = v_tombstone WHERE decided_by = ANY (v_people);
  UPDATE audit SET person = v_tombstone, entry = json_build_object('at', at, 'person', v_tombstone, 'surface', entry::json->>'surface',
    'action', action, 'decision', decision)::text
  WHERE person = ANY (v_people);
  FOREACH v_person IN ARRAY v_people LOOP
    v_word := '(^|[^[:alnum:]_])' || regexp_replace(v_person, '([^[:alnum:]_])', '\\\1', 'g') || '($|[^[:alnum:]_])';
    UPDATE audit SET entry = ((entry::jsonb - 'reason') || jsonb_build_object('target', v_tombstone))::text
    WHERE position(v_person IN entry) > 0
      AND (entry::json->>'target' ~ v_word OR entry::json->>'reason' ~ v_word);
    UPDATE requests SET reply = p->>'reply' WHERE position(to_json(v_person)::text IN reply) > 0;
    UPDATE changes SET result = NULL WHERE position(to_json(v_person)::text IN result) > 0;
  END LOOP;
END $$
