-- Marks nodes as gone whose process no longer holds its advisory lock.
CREATE OR REPLACE FUNCTION {{retire_dead}}(p_except bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_node bigint;
BEGIN
  FOR v_node IN SELECT node FROM nodes WHERE gone = 0 AND locked AND node <> p_except ORDER BY node LOOP
    IF pg_try_advisory_xact_lock(hashtext(current_schema() || '.node'), v_node::int) THEN
      UPDATE nodes SET gone = 1 WHERE node = v_node AND gone = 0;
    END IF;
  END LOOP;
END $$
