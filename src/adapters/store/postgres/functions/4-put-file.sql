-- The row of a file. Its blobs are staged, or belong to another file; else their bytes may be gone.
CREATE OR REPLACE FUNCTION {{put_file}}(p jsonb) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_used bigint := coalesce((SELECT sum(size) FROM stored_files WHERE person = p->>'person'), 0);
  v_size bigint := (p->>'size')::bigint;
  v_blob text;
BEGIN
  IF EXISTS (SELECT FROM stored_files WHERE id = p->>'id') THEN
    RETURN jsonb_build_object('op', 'file.put', 'status', 'exists', 'used', v_used);
  END IF;
  IF v_used + v_size > (p->>'quota')::bigint THEN
    RETURN jsonb_build_object('op', 'file.put', 'status', 'full', 'used', v_used);
  END IF;
  FOREACH v_blob IN ARRAY array_remove(ARRAY[p->>'blob', p->>'shown'], NULL) LOOP
    DELETE FROM blob_trash WHERE blob = v_blob AND NOT doomed;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM stored_files WHERE blob = v_blob)
      AND NOT EXISTS (SELECT FROM stored_files WHERE shown_blob = v_blob) THEN
      RAISE EXCEPTION 'missing:The bytes % are not kept any more.', v_blob USING ERRCODE = 'RKREF';
    END IF;
  END LOOP;
  INSERT INTO stored_files (id, sha, blob, shown_blob, person, size, created_at, record)
  VALUES (p->>'id', p->>'sha', p->>'blob', p->>'shown', p->>'person', v_size, (p->>'at')::bigint, p->>'record');
  RETURN jsonb_build_object('op', 'file.put', 'status', 'stored', 'used', v_used + v_size);
END $$
