-- Applies a batch of changes at once, with one statement per table for any number of changes. The caller makes sure that a
-- batch has only everyday ops and that no two of its changes conflict (`batchable.ts`). The statements check everything a
-- change claims: each must write as many rows as it was given. If one does not, nothing is applied, and the caller applies
-- the group one change after the other, which finds the reason.
-- States are compared with the given rows (`came`), never with a constant: the planner would read all rows in that state and
-- search the given ones among them.
CREATE OR REPLACE FUNCTION {{apply_batch}}(
  p jsonb, p_names text[], p_agents text[], p_keys text[], p_clock boolean
) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now bigint := CASE WHEN p_clock THEN (extract(epoch FROM clock_timestamp()) * 1000)::bigint ELSE (p->>'now')::bigint END;
  v_count bigint;
  v_living bigint[];
  v_said jsonb := '[]';
  v_released jsonb;
  v_results jsonb;
  v_moved jsonb;
BEGIN
  PERFORM {{lock_group}}(p_names, p_agents, p_keys, '{}', '{}', '{}', '{}', '{}');

  IF p ? 'taken' THEN
    UPDATE messages m SET state = 'taken', run_id = w.run
    FROM jsonb_to_recordset(p->'taken') AS w (agent text, seq bigint, run text, came text)
    WHERE m.agent = w.agent AND m.seq = w.seq AND m.state = w.came;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> jsonb_array_length(p->'taken') THEN RAISE EXCEPTION 'not batchable: messages to take' USING ERRCODE = 'RKSLW'; END IF;
  END IF;
  IF p ? 'settled' THEN
    UPDATE messages m SET state = w.state, run_id = coalesce(w.run, m.run_id), reason = w.reason, settled_at = w.at
    FROM jsonb_to_recordset(p->'settled') AS w (agent text, seq bigint, came text, state text, run text, reason text, at bigint)
    WHERE m.agent = w.agent AND m.seq = w.seq AND m.state = w.came;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> jsonb_array_length(p->'settled') THEN RAISE EXCEPTION 'not batchable: messages to settle' USING ERRCODE = 'RKSLW'; END IF;
  END IF;

  IF p ? 'rights' THEN
    -- What was decided by rights that have changed since is refused (M30).
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('rights', 17));
    v_count := coalesce((SELECT value::bigint FROM facts WHERE key = 'rights.revision'), 0);
    IF EXISTS (SELECT FROM jsonb_array_elements(p->'rights') AS claimed WHERE (claimed->>'revision')::bigint <> v_count) THEN
      RAISE EXCEPTION 'not batchable: rights' USING ERRCODE = 'RKSLW';
    END IF;
  END IF;
  IF p ? 'owners' THEN
    -- Checks every claim of an owner: node and epoch, session, run and its step, no marks, position.
    WITH given AS (
      UPDATE agents a SET
        next_pos = a.next_pos + w.lines,
        leaf = coalesce(w.leaf, a.leaf),
        session_id = coalesce(w.begins, a.session_id),
        waiting = a.waiting - w.gone,
        cursor = CASE
          WHEN w.gone = 0 THEN a.cursor
          WHEN a.waiting = w.gone THEN a.next_seq - 1
          ELSE coalesce((SELECT m.seq FROM messages m WHERE m.agent = a.id AND m.seq > a.cursor AND m.state = 'waiting' ORDER BY m.seq LIMIT 1), a.next_seq) - 1
        END,
        run_id = CASE WHEN w.opens IS NOT NULL THEN w.opens WHEN w.ends IS NOT NULL THEN NULL ELSE a.run_id END,
        busy = a.waiting > w.gone OR w.opens IS NOT NULL OR (a.run_id IS NOT NULL AND w.ends IS NULL AND NOT a.suspended),
        suspended = a.suspended AND w.ends IS NULL,
        node = CASE WHEN w.rel IS NOT NULL AND a.waiting = w.gone AND (a.run_id IS NULL OR a.suspended OR w.ends IS NOT NULL) AND w.opens IS NULL THEN NULL ELSE a.node END
      FROM jsonb_to_recordset(p->'owners') AS w (i int, agent text, node bigint, epoch bigint, session text, run text, step bigint,
        even boolean, pos bigint, lines bigint, leaf text, begins text, gone bigint, opens text, steps text, ends text, rel int, unless bigint)
      WHERE a.id = w.agent AND a.node = w.node AND a.epoch = w.epoch
        AND (w.session IS NULL OR a.session_id = w.session)
        AND (w.pos IS NULL OR a.next_pos = w.pos)
        AND (w.opens IS NULL OR a.run_id IS NULL)
        AND (w.unless IS NULL OR a.next_seq <= w.unless + 1 OR NOT EXISTS (
          SELECT FROM messages m WHERE m.agent = a.id AND m.seq > w.unless AND m.urgent AND m.is_reset AND m.state = 'waiting'))
        AND (w.steps IS NULL OR a.run_id = w.steps)
        AND (w.ends IS NULL OR a.run_id = w.ends)
        AND (w.run IS NULL OR EXISTS (
          SELECT FROM runs r WHERE r.id = w.run AND r.agent = a.id AND r.state = 'open' AND r.step = w.step AND (w.even OR r.abort IS NULL)))
        AND ((w.opens IS NULL AND (w.run IS NULL OR w.even))
          OR (a.stopped IS NULL AND (a.parent IS NULL OR {{stopped_by}}(a.parent) IS NULL)))
      RETURNING w.i, w.rel, a.node IS NULL AS released
    )
    SELECT count(*), jsonb_agg(jsonb_build_object('i', i, 'o', rel, 'said', jsonb_build_object('op', 'agent.release', 'released', released)))
      FILTER (WHERE rel IS NOT NULL)
    INTO v_count, v_released FROM given;
    IF v_count <> jsonb_array_length(p->'owners') THEN RAISE EXCEPTION 'not batchable: owners' USING ERRCODE = 'RKSLW'; END IF;
    v_said := coalesce(v_released, '[]');
  END IF;
  IF p ? 'entries' THEN
    INSERT INTO entries (agent, pos, line)
      SELECT agent, pos, line FROM jsonb_to_recordset(p->'entries') AS w (agent text, pos bigint, line text);
  END IF;
  IF p ? 'states' THEN
    UPDATE states s SET state = w.state FROM jsonb_to_recordset(p->'states') AS w (agent text, state text) WHERE s.agent = w.agent;
  END IF;
  IF p ? 'opened' THEN
    INSERT INTO runs (id, agent, session_id, started_at, body, person)
      SELECT w.run, a.id, a.session_id, w.at, w.body, w.person
      FROM jsonb_to_recordset(p->'opened') AS w (run text, agent text, at bigint, body text, person text) JOIN agents a ON a.id = w.agent;
  END IF;
  IF p ? 'stepped' THEN
    UPDATE runs r SET step = r.step + 1, attempt = w.attempt, body = w.body, person = w.person, tokens = coalesce(w.tokens, 0), cost = coalesce(w.cost, 0)
    FROM jsonb_to_recordset(p->'stepped') AS w (run text, agent text, attempt bigint, body text, person text, tokens bigint, cost float8, came text)
    WHERE r.id = w.run AND r.agent = w.agent AND r.state = w.came;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> jsonb_array_length(p->'stepped') THEN RAISE EXCEPTION 'not batchable: steps' USING ERRCODE = 'RKSLW'; END IF;
  END IF;
  IF p ? 'ended' THEN
    UPDATE runs r SET state = 'ended', step = r.step + 1, outcome = w.outcome, ended_at = w.at, body = w.body,
      person = w.person, tokens = coalesce(w.tokens, 0), cost = coalesce(w.cost, 0)
    FROM jsonb_to_recordset(p->'ended')
      AS w (run text, agent text, outcome text, at bigint, body text, person text, tokens bigint, cost float8, came text)
    WHERE r.id = w.run AND r.agent = w.agent AND r.state = w.came;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> jsonb_array_length(p->'ended') THEN RAISE EXCEPTION 'not batchable: ends' USING ERRCODE = 'RKSLW'; END IF;
  END IF;
  IF p ? 'owed' THEN
    INSERT INTO deliveries (id, agent, run_id, state, next_at, created_at, ended_at, reason, target, payload)
      SELECT id, agent, run, coalesce(state, 'pending'), at, at, ended, reason, target, payload
      FROM jsonb_to_recordset(p->'owed') AS w (id text, agent text, run text, state text, at bigint, ended bigint, reason text, target text, payload text);
  END IF;
  IF p ? 'moved' THEN
    WITH moved AS (UPDATE deliveries d SET
      state = w.state,
      attempts = CASE WHEN w.state = 'sending' THEN d.attempts + 1 ELSE d.attempts END,
      node = coalesce(w.node, d.node),
      next_at = coalesce(w.next, w.at),
      ended_at = CASE WHEN w.state IN ('sent', 'suppressed', 'failed', 'unconfirmed') THEN w.at END,
      reason = w.reason,
      receipt = coalesce(w.receipt, d.receipt)
    FROM jsonb_to_recordset(p->'moved')
      AS w (i int, id text, came text, attempts bigint, state text, next bigint, reason text, receipt text, node bigint, at bigint)
    WHERE d.id = w.id AND d.state = w.came AND d.attempts = w.attempts RETURNING w.i, d.agent)
    SELECT count(*), jsonb_object_agg(i, agent) INTO v_count, v_moved FROM moved;
    IF v_count <> jsonb_array_length(p->'moved') THEN RAISE EXCEPTION 'not batchable: deliveries to move' USING ERRCODE = 'RKSLW'; END IF;
  END IF;

  IF p ? 'audit' THEN
    INSERT INTO audit (at, person, agent, action, decision, entry)
      SELECT at, person, agent, action, decision, entry
      FROM jsonb_to_recordset(p->'audit') AS w (at bigint, person text, agent text, action text, decision text, entry text);
  END IF;
  IF p ? 'facts' THEN
    SELECT count(*) INTO v_count FROM jsonb_to_recordset(p->'facts') AS w (key text, expect jsonb) LEFT JOIN facts f ON f.key = w.key
    WHERE w.expect IS NOT NULL AND f.value IS DISTINCT FROM (w.expect->>0);
    IF v_count <> 0 THEN RAISE EXCEPTION 'not batchable: facts' USING ERRCODE = 'RKSLW'; END IF;
    DELETE FROM facts f USING jsonb_to_recordset(p->'facts') AS w (key text, value text) WHERE f.key = w.key AND w.value IS NULL;
    INSERT INTO facts (key, value) SELECT key, value FROM jsonb_to_recordset(p->'facts') AS w (key text, value text) WHERE value IS NOT NULL
    ON CONFLICT (key) DO UPDATE SET value = excluded.value;
  END IF;

  IF p ? 'finished' THEN
    UPDATE requests r SET finished = true FROM jsonb_to_recordset(p->'finished') AS w (key text, agent text, seq bigint)
    WHERE r.key = w.key AND r.agent = w.agent AND r.seq = w.seq;
  END IF;

  IF p ? 'requests' THEN
    -- A request that may repeat an earlier one is compared one after the other. A later post of the same batch can only make
    -- a request new that would have joined, so what is new here stays new.
    IF EXISTS (
      SELECT FROM jsonb_to_recordset(p->'requests') AS w (request text, digest text, retry boolean, at bigint)
      JOIN requests r ON r.key = w.request AND r.keep_until > w.at
      WHERE w.digest IS NOT NULL OR r.agent IS NULL OR EXISTS (
        SELECT FROM agents a WHERE a.id = r.agent AND NOT a.removed
          AND CASE WHEN w.retry THEN NOT (r.finished AND a.last_user_seq > r.seq) ELSE NOT r.finished END)
    ) THEN RAISE EXCEPTION 'not batchable: requests' USING ERRCODE = 'RKSLW'; END IF;
  END IF;

  IF p ? 'posts' THEN
    -- A message of a forgotten person, delivered once more: its key is a digest.
    IF EXISTS (
      SELECT FROM jsonb_to_recordset(p->'posts') AS w (dedupe text)
      JOIN dedupe d ON d.key = '#' || encode(sha256(convert_to(w.dedupe, 'UTF8')), 'hex')
    ) THEN RAISE EXCEPTION 'not batchable: posts' USING ERRCODE = 'RKSLW'; END IF;
    v_living := ARRAY(SELECT node FROM nodes WHERE gone <> 1 AND lease_until > v_now);
    -- Each message gets the agent's next sequence, in the order of the batch (M3).
    WITH given AS (
      SELECT w.*, coalesce(w.agent, k.agent) AS recipient
      FROM jsonb_to_recordset(p->'posts') AS w (i int, o int, agent text, key text, urgent boolean, reset boolean, human boolean, person boolean, at bigint, message text,
        dedupe text, keep bigint, max_waiting bigint, claim bigint, request text, digest text, request_keep bigint)
      LEFT JOIN session_keys k ON k.key = w.key
    ), placed AS (
      SELECT given.*, a.next_seq, a.waiting, row_number() OVER (PARTITION BY recipient ORDER BY i, o) AS place
      FROM given JOIN agents a ON a.id = given.recipient AND NOT a.removed
    ), numbered AS MATERIALIZED (
      SELECT placed.*, next_seq + place - 1 AS seq FROM placed WHERE max_waiting IS NULL OR waiting + place <= max_waiting
    ), put AS (
      INSERT INTO messages (agent, seq, state, urgent, is_reset, accepted_at, message)
        SELECT recipient, seq, 'waiting', urgent, reset, at, message FROM numbered
    ), remembered AS (
      INSERT INTO dedupe (key, agent, seq, keep_until)
        SELECT dedupe, recipient, seq, keep FROM numbered WHERE dedupe IS NOT NULL ON CONFLICT DO NOTHING RETURNING 1
    ), entered AS (
      INSERT INTO requests (key, digest, agent, seq, keep_until)
        SELECT request, digest, recipient, seq, request_keep FROM numbered WHERE request IS NOT NULL
      ON CONFLICT (key) DO UPDATE SET digest = excluded.digest, agent = excluded.agent, seq = excluded.seq, finished = false,
        reply = NULL, keep_until = excluded.keep_until
    ), counted AS (
      UPDATE agents a SET next_seq = a.next_seq + g.posted, waiting = a.waiting + g.posted, busy = true,
        last_user_seq = coalesce(g.user_seq, a.last_user_seq),
        last_human_at = CASE WHEN a.kind = 'user' AND g.human IS NOT NULL THEN greatest(a.last_human_at, g.human) ELSE a.last_human_at END,
        node = CASE WHEN g.claim IS NOT NULL AND (a.node IS NULL OR a.node <> ALL (v_living)) THEN g.claim ELSE a.node END,
        epoch = CASE WHEN g.claim IS NOT NULL AND a.node IS DISTINCT FROM g.claim AND (a.node IS NULL OR a.node <> ALL (v_living)) THEN a.epoch + 1 ELSE a.epoch END
      FROM (
        SELECT recipient, count(*) AS posted, max(at) FILTER (WHERE human) AS human, max(seq) FILTER (WHERE person) AS user_seq, min(claim) AS claim FROM numbered GROUP BY recipient
      ) AS g
      WHERE a.id = g.recipient
      RETURNING a.id, a.node, a.epoch, a.waiting
    )
    SELECT count(*) - jsonb_array_length(p->'posts') + (SELECT count(*) FROM remembered) - count(n.dedupe),
      jsonb_agg(jsonb_build_object('i', n.i, 'o', n.o, 'said',
        jsonb_build_object('op', 'message.post', 'agentId', n.recipient, 'seq', n.seq, 'duplicate', false, 'created', false)
        || CASE WHEN c.node IS NOT NULL AND (c.node = n.claim OR c.node = ANY (v_living))
          THEN jsonb_build_object('holder', jsonb_build_object('node', c.node, 'epoch', c.epoch)) ELSE '{}' END
        || CASE WHEN c.waiting = 1 THEN '{"alone": true}'::jsonb ELSE '{}' END))
    INTO v_count, v_released FROM numbered n JOIN counted c ON c.id = n.recipient;
    -- A recipient does not exist or its queue is full, or a message was accepted before.
    IF v_count <> 0 THEN RAISE EXCEPTION 'not batchable: posts' USING ERRCODE = 'RKSLW'; END IF;
    v_said := v_said || v_released;
  END IF;

  IF v_said <> '[]' THEN
    v_results := (SELECT jsonb_object_agg(r.i, r.result) FROM (
      SELECT s.i, jsonb_object_agg(s.o, s.said) AS result FROM jsonb_to_recordset(v_said) AS s (i int, o int, said jsonb) GROUP BY s.i) AS r);
  END IF;
  INSERT INTO changes (id, at, touched, result)
    SELECT c.id, c.at,
      c.touched || CASE c.also
        WHEN 'moved' THEN ARRAY[v_moved->>c.i::text]
        WHEN 'posted' THEN ARRAY(SELECT said->>'agentId' FROM jsonb_each(v_results->c.i::text) AS r (o, said) WHERE said ? 'agentId')
        ELSE '{}' END,
      (v_results->c.i::text || jsonb_build_object('ops', c.ops))::text
    FROM jsonb_to_recordset(p->'changes') AS c (i int, id text, at bigint, touched text[], ops int, also text);
  RETURN v_said;
END $$
