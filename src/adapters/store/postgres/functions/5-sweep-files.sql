-- Removes the files of one portion that nothing refers to, and names blobs that no row will ever use again. A removed agent
-- whose history was deleted holds nothing; a delivery holds its files until its row is pruned.
CREATE OR REPLACE FUNCTION {{sweep_files}}(p jsonb, p_at bigint) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_limit bigint := (p->>'limit')::bigint;
  v_walked bigint;
  v_last text;
  v_unused text[];
  v_removed bigint;
  v_said jsonb;
BEGIN
  SELECT count(*), max(id), array_agg(id) FILTER (WHERE created_at < (p->>'before')::bigint AND NOT EXISTS (
    SELECT FROM file_holds h WHERE h.file = walked.id AND (
      EXISTS (SELECT FROM agents a WHERE h.holder LIKE 'agent:%' AND a.id = substr(h.holder, 7) AND a.next_pos > 0)
      OR EXISTS (SELECT FROM deliveries d WHERE h.holder LIKE 'delivery:%' AND d.id = substr(h.holder, 10)))))
  INTO v_walked, v_last, v_unused
  FROM (SELECT id, created_at FROM stored_files WHERE id > coalesce(p->>'after', '') ORDER BY id LIMIT v_limit) AS walked;
  v_removed := {{drop_files}}(v_unused, p_at);
  UPDATE blob_trash SET doomed = true WHERE due_at <= p_at AND NOT doomed;
  v_said := jsonb_build_object('op', 'file.sweep', 'removed', v_removed, 'blobs', (
    SELECT coalesce(jsonb_agg(blob), '[]') FROM
      (SELECT blob FROM blob_trash WHERE due_at <= p_at AND doomed ORDER BY due_at LIMIT v_limit) AS doomed));
  IF v_walked = v_limit THEN v_said := v_said || jsonb_build_object('next', v_last); END IF;
  RETURN v_said;
END $$
