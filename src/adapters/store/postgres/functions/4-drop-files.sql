-- Removes files and dooms the blobs that no other file uses. Returns how many files there were.
CREATE OR REPLACE FUNCTION {{drop_files}}(p_ids text[], p_at bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_row record;
  v_blob text;
  v_count bigint := 0;
BEGIN
  FOR v_row IN DELETE FROM stored_files WHERE id = ANY (p_ids) RETURNING id, blob, shown_blob LOOP
    v_count := v_count + 1;
    DELETE FROM file_holds WHERE file = v_row.id;
    FOREACH v_blob IN ARRAY array_remove(ARRAY[v_row.blob, v_row.shown_blob], NULL) LOOP
      INSERT INTO blob_trash (blob, due_at, doomed) SELECT v_blob, p_at, true
      WHERE NOT EXISTS (SELECT FROM stored_files WHERE blob = v_blob) AND NOT EXISTS (SELECT FROM stored_files WHERE shown_blob = v_blob)
      ON CONFLICT (blob) DO NOTHING;
    END LOOP;
  END LOOP;
  RETURN v_count;
END $$
