-- Applies one change whole, or refuses it: by its answer if nothing was written yet, by an exception otherwise. The caller
-- has locked the rows of all agents it names. The owner's row is read once, changed in memory and written once.
CREATE OR REPLACE FUNCTION {{apply_change}}(c jsonb, p_clock boolean) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  o agents;
  v_owner jsonb := c->'owner';
  v_at bigint := (c->>'at')::bigint;
  v_now bigint := CASE WHEN p_clock THEN (extract(epoch FROM clock_timestamp()) * 1000)::bigint ELSE v_at END;
  v_run record;
  v_text text;
  v_state text;
  v_count bigint;
  v_dirty boolean := false;
  v_touched text[] := '{}';
  v_said jsonb;
  v_results jsonb;
  v_index int := -1;
  v_repeated boolean := false;
  p jsonb;
BEGIN
  IF v_owner IS NOT NULL THEN
    SELECT * INTO o FROM agents WHERE id = v_owner->>'agentId';
    IF NOT FOUND THEN RETURN jsonb_build_object('refused', 'missing', 'detail', format('There is no agent %s.', v_owner->>'agentId')); END IF;
    IF o.node IS DISTINCT FROM (v_owner->>'node')::bigint OR o.epoch <> (v_owner->>'epoch')::bigint THEN
      RETURN jsonb_build_object('refused', 'fenced', 'detail', format('Agent %s is held by node %s, epoch %s.', o.id, o.node, o.epoch));
    END IF;
    IF v_owner->>'sessionId' <> o.session_id THEN
      RETURN jsonb_build_object('refused', 'session', 'detail', format('Agent %s has begun session %s.', o.id, o.session_id));
    END IF;
    IF v_owner ? 'run' THEN
      SELECT state, step, abort INTO v_run FROM runs WHERE id = v_owner->'run'->>'id' AND agent = o.id;
      IF NOT FOUND THEN
        SELECT state, step, abort INTO v_run FROM runs WHERE id = v_owner->'run'->>'id';
        IF NOT FOUND THEN RETURN jsonb_build_object('refused', 'missing', 'detail', format('There is no run %s.', v_owner->'run'->>'id')); END IF;
      END IF;
      IF v_run.state <> 'open' OR v_run.step <> (v_owner->'run'->>'step')::bigint THEN
        RETURN jsonb_build_object('refused', 'run', 'detail', format('Run %s is %s at step %s.', v_owner->'run'->>'id', v_run.state, v_run.step));
      END IF;
      IF NOT coalesce((v_owner->'run'->>'evenAborted')::boolean, false) THEN
        IF v_run.abort IS NOT NULL THEN
          RETURN jsonb_build_object('refused', 'aborted', 'detail', format('Run %s was aborted: %s', v_owner->'run'->>'id', v_run.abort));
        END IF;
        IF o.stopped IS NOT NULL THEN v_text := o.id; ELSIF o.parent IS NOT NULL THEN v_text := {{stopped_by}}(o.parent); ELSE v_text := NULL; END IF;
        IF v_text IS NOT NULL THEN
          RETURN jsonb_build_object('refused', 'stopped', 'detail', format('Agent %s was stopped.', v_text));
        END IF;
      END IF;
    END IF;
    -- A change of rights holds this lock alone, so that nothing begins after it that was decided before it (M30).
    IF v_owner ? 'rights' THEN
      PERFORM pg_advisory_xact_lock_shared(hashtextextended('rights', 17));
      v_count := coalesce((SELECT value::bigint FROM facts WHERE key = 'rights.revision'), 0);
      IF v_count <> (v_owner->>'rights')::bigint THEN
        RETURN jsonb_build_object('refused', 'rights', 'detail', format('The rights of people are at %s, not %s.', v_count, v_owner->>'rights'));
      END IF;
    END IF;
  END IF;

  FOR p IN SELECT value FROM jsonb_array_elements(c->'ops') LOOP
    v_index := v_index + 1;
    v_said := NULL;
    -- What belongs to a message that was accepted before has happened.
    IF v_repeated AND p ? 'ifPosted' THEN CONTINUE; END IF;
    -- Ops of the owner.
    IF p ? 'byOwner' THEN
      IF v_owner IS NULL THEN
        RAISE EXCEPTION 'fenced:The change at % names no owner.', c->>'site' USING ERRCODE = 'RKREF';
      END IF;
      CASE p->>'op'
        WHEN 'entries.append' THEN
          IF (p->>'position')::bigint <> o.next_pos THEN
            RAISE EXCEPTION 'conflict:History of % is at %, not at %.', o.id, o.next_pos, p->>'position' USING ERRCODE = 'RKREF';
          END IF;
          INSERT INTO entries (agent, pos, line)
            SELECT o.id, o.next_pos + ord - 1, line FROM jsonb_array_elements_text(p->'lines') WITH ORDINALITY AS lines (line, ord);
          o.next_pos := o.next_pos + jsonb_array_length(p->'lines');
          o.leaf := p->>'leaf';
          v_dirty := true;
        WHEN 'run.step' THEN
          UPDATE runs SET step = step + 1, attempt = coalesce((p->>'attempt')::bigint, 1), body = p->>'body',
            person = p->>'person', tokens = coalesce((p->>'tokens')::bigint, 0), cost = coalesce((p->>'cost')::float8, 0)
          WHERE id = p->>'runId' AND agent = o.id AND state = 'open';
          IF NOT FOUND OR o.run_id IS DISTINCT FROM p->>'runId' THEN
            RAISE EXCEPTION 'run:Run % is not open.', p->>'runId' USING ERRCODE = 'RKREF';
          END IF;
        WHEN 'run.amend' THEN
          UPDATE runs SET body = p->>'body', person = p->>'person', tokens = coalesce((p->>'tokens')::bigint, 0),
            cost = coalesce((p->>'cost')::float8, 0)
          WHERE id = p->>'runId' AND agent = o.id AND state = 'open';
          IF NOT FOUND OR o.run_id IS DISTINCT FROM p->>'runId' THEN
            RAISE EXCEPTION 'run:Run % is not open.', p->>'runId' USING ERRCODE = 'RKREF';
          END IF;
        WHEN 'message.take' THEN
          -- A reset that the owner has not seen goes first (M10).
          IF o.next_seq > (p->>'unless')::bigint + 1 AND EXISTS (
            SELECT FROM messages WHERE agent = o.id AND seq > (p->>'unless')::bigint AND urgent AND is_reset AND state = 'waiting'
          ) THEN
            RAISE EXCEPTION 'conflict:A reset waits at % and goes first.', o.id USING ERRCODE = 'RKREF';
          END IF;
          UPDATE messages SET state = 'taken', run_id = p->>'runId'
          WHERE agent = o.id AND state = 'waiting' AND seq IN (SELECT value::bigint FROM jsonb_array_elements(p->'seqs'));
          GET DIAGNOSTICS v_count = ROW_COUNT;
          IF v_count <> jsonb_array_length(p->'seqs') THEN
            RAISE EXCEPTION 'conflict:Not all of % of % wait.', p->'seqs', o.id USING ERRCODE = 'RKREF';
          END IF;
          o.waiting := o.waiting - v_count;
          IF o.waiting = 0 THEN o.cursor := o.next_seq - 1;
          ELSE
            o.cursor := coalesce((SELECT seq FROM messages WHERE agent = o.id AND seq > o.cursor AND state = 'waiting' ORDER BY seq LIMIT 1), o.next_seq) - 1;
          END IF;
          v_dirty := true;
        WHEN 'message.settle' THEN
          -- Settlements of the same kind share one statement; each must find its message in the state it names.
          FOR v_run IN
            SELECT s->>'from' AS came, s->>'state' AS state, s->>'runId' AS run_id, s->>'reason' AS reason,
              array_agg((s->>'seq')::bigint) AS seqs
            FROM jsonb_array_elements(p->'settlements') AS s GROUP BY 1, 2, 3, 4
          LOOP
            UPDATE messages SET state = v_run.state, run_id = coalesce(v_run.run_id, run_id), reason = v_run.reason, settled_at = v_at
            WHERE agent = o.id AND seq = ANY (v_run.seqs) AND state = v_run.came;
            GET DIAGNOSTICS v_count = ROW_COUNT;
            IF v_count <> cardinality(v_run.seqs) THEN
              RAISE EXCEPTION 'conflict:Not all of % of % are %.', v_run.seqs, o.id, v_run.came USING ERRCODE = 'RKREF';
            END IF;
            IF v_run.came = 'waiting' THEN
              o.waiting := o.waiting - v_count;
              IF o.waiting = 0 THEN o.cursor := o.next_seq - 1;
              ELSE
                o.cursor := coalesce((SELECT seq FROM messages WHERE agent = o.id AND seq > o.cursor AND state = 'waiting' ORDER BY seq LIMIT 1), o.next_seq) - 1;
              END IF;
              v_dirty := true;
            END IF;
          END LOOP;
        WHEN 'message.tried' THEN
          UPDATE messages SET message = p->>'message' WHERE agent = o.id AND seq = (p->>'seq')::bigint AND state = 'waiting';
          IF NOT FOUND THEN RAISE EXCEPTION 'conflict:Message % of % is not waiting.', p->>'seq', o.id USING ERRCODE = 'RKREF'; END IF;
        WHEN 'run.open' THEN
          IF o.run_id IS NOT NULL THEN
            RAISE EXCEPTION 'conflict:Agent % has the open run %.', o.id, o.run_id USING ERRCODE = 'RKREF';
          END IF;
          IF o.stopped IS NOT NULL THEN v_text := o.id; ELSIF o.parent IS NOT NULL THEN v_text := {{stopped_by}}(o.parent); ELSE v_text := NULL; END IF;
          IF v_text IS NOT NULL THEN RAISE EXCEPTION 'stopped:Agent % was stopped.', v_text USING ERRCODE = 'RKREF'; END IF;
          INSERT INTO runs (id, agent, session_id, started_at, body, person) VALUES (p->>'runId', o.id, o.session_id, v_at, p->>'body', p->>'person');
          o.run_id := p->>'runId';
          v_dirty := true;
        WHEN 'run.end' THEN
          UPDATE runs SET state = 'ended', step = step + 1, outcome = p->>'outcome', ended_at = v_at, body = p->>'body',
            person = p->>'person', tokens = coalesce((p->>'tokens')::bigint, 0), cost = coalesce((p->>'cost')::float8, 0)
          WHERE id = p->>'runId' AND agent = o.id AND state = 'open';
          IF NOT FOUND OR o.run_id IS DISTINCT FROM p->>'runId' THEN
            RAISE EXCEPTION 'run:Run % is not open.', p->>'runId' USING ERRCODE = 'RKREF';
          END IF;
          o.run_id := NULL;
          o.suspended := false;
          -- A run that ended well has ended its own waits.
          IF p->>'outcome' <> 'ok' THEN DELETE FROM waits WHERE waiter = o.id; END IF;
          v_dirty := true;
        WHEN 'state.put' THEN
          UPDATE states SET state = p->>'state' WHERE agent = o.id;
        WHEN 'delivery.add' THEN
          INSERT INTO deliveries (id, agent, run_id, state, next_at, created_at, ended_at, reason, target, payload)
          VALUES (p->>'id', o.id, p->>'runId', coalesce(p->>'state', 'pending'), (p->>'at')::bigint, (p->>'at')::bigint,
            CASE WHEN p ? 'ended' THEN v_at END, p->>'reason', p->>'target', p->>'payload');
        WHEN 'agent.describe' THEN
          IF o.kind <> 'permanent' OR p->>'kind' <> 'permanent' THEN
            RAISE EXCEPTION 'conflict:Agent % is of the kind %: its descriptor is final.', o.id, o.kind USING ERRCODE = 'RKREF';
          END IF;
          UPDATE agents SET descriptor = p->>'descriptor' WHERE id = o.id;
        WHEN 'budget.reserve' THEN
          v_said := {{reserve_budget}}(p, o.id, v_at);
          IF p ? 'counted' AND v_said->'decision'->>'kind' = 'go' THEN
            UPDATE runs SET body = p->'counted'->>'body' WHERE id = p->>'runId' AND agent = o.id AND state = 'open';
          END IF;
          v_touched := v_touched || 'budgets'::text;
        WHEN 'budget.told' THEN
          INSERT INTO budget_told (key, agent) VALUES (p->>'key', o.id) ON CONFLICT DO NOTHING;
          v_touched := v_touched || 'budgets'::text;
        WHEN 'run.suspend' THEN
          IF o.run_id IS DISTINCT FROM p->>'runId' THEN
            RAISE EXCEPTION 'run:Run % is not open.', p->>'runId' USING ERRCODE = 'RKREF';
          END IF;
          o.suspended := (p->>'suspended')::boolean;
          v_dirty := true;
        WHEN 'approval.ask' THEN
          IF EXISTS (SELECT FROM approvals WHERE id = p->>'id' OR (run_id = p->>'runId' AND call_id = p->>'callId')) THEN
            RAISE EXCEPTION 'conflict:Approval % exists, or the call has one.', p->>'id' USING ERRCODE = 'RKREF';
          END IF;
          INSERT INTO approvals (id, agent, run_id, call_id, person, digest, state, due_at, record)
          VALUES (p->>'id', o.id, p->>'runId', p->>'callId', p->>'person', p->>'digest', 'pending', (p->>'due')::bigint, p->>'record');
        WHEN 'approval.use' THEN
          UPDATE approvals SET state = 'used', ended_at = v_at, record = left(record, -1) || ',"used":' || (p->>'by') || '}'
          WHERE id = p->>'id' AND agent = o.id AND state = 'approved' AND digest = p->>'digest' AND due_at > v_at;
          IF NOT FOUND THEN
            RAISE EXCEPTION 'conflict:Approval % cannot be used for this call.', p->>'id' USING ERRCODE = 'RKREF';
          END IF;
        WHEN 'agent.release' THEN
          v_said := jsonb_build_object('op', 'agent.release', 'released', o.waiting = 0 AND (o.run_id IS NULL OR o.suspended));
          IF o.waiting = 0 AND (o.run_id IS NULL OR o.suspended) THEN
            o.node := NULL;
            v_dirty := true;
          END IF;
        WHEN 'agent.hand' THEN
          IF NOT EXISTS (SELECT FROM nodes WHERE node = (p->>'to')::bigint AND gone <> 1 AND lease_until > v_now) THEN
            RAISE EXCEPTION 'missing:Node % does not live.', p->>'to' USING ERRCODE = 'RKREF';
          END IF;
          o.node := (p->>'to')::bigint;
          UPDATE agents SET epoch = epoch + 1 WHERE id = o.id;
          v_dirty := true;
        WHEN 'leaf.move' THEN
          o.leaf := p->>'leaf';
          v_dirty := true;
        WHEN 'session.begin' THEN
          o.session_id := p->>'sessionId';
          v_dirty := true;
        ELSE
          RAISE EXCEPTION 'Unexpected op %', p->>'op';
      END CASE;
      v_touched := v_touched || o.id;
    ELSE
      -- These ops may write the owner's row too, so that row is written first and read again afterwards.
      IF v_dirty THEN
        UPDATE agents SET session_id = o.session_id, next_seq = o.next_seq, cursor = o.cursor, waiting = o.waiting, next_pos = o.next_pos,
          leaf = o.leaf, run_id = o.run_id, node = o.node, suspended = o.suspended,
          busy = o.waiting > 0 OR (o.run_id IS NOT NULL AND NOT o.suspended)
        WHERE id = o.id;
        v_dirty := false;
      END IF;
      CASE p->>'op'
        WHEN 'message.post' THEN
          v_said := {{post_message}}(p, v_at, v_now);
          v_repeated := v_repeated OR coalesce((v_said->>'duplicate')::boolean, false);
          v_touched := v_touched || (v_said->>'agentId');
        WHEN 'message.drop' THEN
          SELECT id, next_seq, cursor, waiting, run_id, suspended INTO v_run FROM agents WHERE id = p->>'agentId' FOR UPDATE;
          IF NOT FOUND THEN RAISE EXCEPTION 'missing:There is no agent %.', p->>'agentId' USING ERRCODE = 'RKREF'; END IF;
          UPDATE messages SET state = 'dropped', reason = p->>'reason', settled_at = v_at
          WHERE agent = v_run.id AND seq = (p->>'seq')::bigint AND state = 'waiting';
          IF NOT FOUND THEN RAISE EXCEPTION 'conflict:Message % of % is not waiting.', p->>'seq', v_run.id USING ERRCODE = 'RKREF'; END IF;
          UPDATE agents SET waiting = v_run.waiting - 1, busy = v_run.waiting > 1 OR (v_run.run_id IS NOT NULL AND NOT v_run.suspended),
            cursor = coalesce((SELECT seq FROM messages WHERE agent = v_run.id AND seq > v_run.cursor AND state = 'waiting' ORDER BY seq LIMIT 1),
              v_run.next_seq) - 1
          WHERE id = v_run.id;
          v_touched := v_touched || v_run.id;
        WHEN 'delivery.move' THEN
          v_touched := v_touched || {{move_delivery}}(p, v_at);
        WHEN 'agent.create' THEN
          SELECT agent INTO v_text FROM session_keys WHERE key = p->'seed'->>'key';
          IF FOUND AND p ? 'fresh' THEN
            RAISE EXCEPTION 'conflict:The session key % is taken.', p->'seed'->>'key' USING ERRCODE = 'RKREF';
          ELSIF FOUND THEN
            v_said := jsonb_build_object('op', 'agent.create', 'agentId', v_text, 'created', false);
          ELSE
            PERFORM {{insert_agent}}(p->'seed');
            v_said := jsonb_build_object('op', 'agent.create', 'agentId', p->'seed'->>'id', 'created', true);
            v_touched := v_touched || (p->'seed'->>'id');
          END IF;
        WHEN 'run.abort' THEN
          SELECT agent INTO v_text FROM runs WHERE id = p->>'runId';
          IF NOT FOUND THEN RAISE EXCEPTION 'missing:There is no run %.', p->>'runId' USING ERRCODE = 'RKREF'; END IF;
          UPDATE runs SET abort = p->>'mark' WHERE id = p->>'runId' AND agent = v_text AND state = 'open' AND abort IS NULL;
          IF p ? 'fresh' AND NOT FOUND THEN
            RAISE EXCEPTION 'conflict:Run % has ended or has a mark.', p->>'runId' USING ERRCODE = 'RKREF';
          END IF;
          v_said := jsonb_build_object('op', 'run.abort', 'marked', FOUND, 'agentId', v_text);
          v_touched := v_touched || v_text;
        WHEN 'agent.stop' THEN
          SELECT id, stop_seq, removed INTO v_run FROM agents WHERE id = p->>'agentId' FOR UPDATE;
          IF NOT FOUND THEN RAISE EXCEPTION 'missing:There is no agent %.', p->>'agentId' USING ERRCODE = 'RKREF'; END IF;
          IF v_run.removed THEN RAISE EXCEPTION 'missing:Agent % was removed.', p->>'agentId' USING ERRCODE = 'RKREF'; END IF;
          IF p ? 'ifSeq' AND v_run.stop_seq IS DISTINCT FROM (p->>'ifSeq')::bigint THEN
            RAISE EXCEPTION 'conflict:Agent % has another stop mark than the one of %.', p->>'agentId', p->>'ifSeq' USING ERRCODE = 'RKREF';
          END IF;
          -- Everything with a lower sequence came before the mark.
          UPDATE agents SET stopped = left(p->>'mark', -1) || ',"seq":' || next_seq || '}', stop_seq = CASE WHEN p ? 'mark' THEN next_seq END
          WHERE id = p->>'agentId';
          v_touched := v_touched || (p->>'agentId');
        WHEN 'agent.remove' THEN
          -- The row stays, with its parent and a mark, so that its children still find their ancestors; all else is deleted.
          SELECT id, session_key, removed, waiting, run_id INTO v_run FROM agents WHERE id = p->>'agentId' FOR UPDATE;
          IF NOT FOUND THEN RAISE EXCEPTION 'missing:There is no agent %.', p->>'agentId' USING ERRCODE = 'RKREF'; END IF;
          IF NOT v_run.removed THEN
            IF v_run.waiting > 0 OR v_run.run_id IS NOT NULL THEN
              RAISE EXCEPTION 'conflict:Agent % is busy: % waiting, run %.', v_run.id, v_run.waiting, v_run.run_id USING ERRCODE = 'RKREF';
            END IF;
            UPDATE agents SET stopped = left(p->>'mark', -1) || ',"seq":' || next_seq || '}', stop_seq = next_seq, removed = true, node = NULL,
              epoch = epoch + 1, last_human_at = NULL, next_pos = CASE WHEN p ? 'keep' THEN next_pos ELSE 0 END
            WHERE id = v_run.id;
            DELETE FROM session_keys WHERE key = v_run.session_key AND agent = v_run.id;
            UPDATE approvals SET state = 'withdrawn', ended_at = v_at, decided_at = v_at, decided_by = 'system', reason = p->>'reason'
            WHERE agent = v_run.id AND state IN ('pending', 'approved');
            IF NOT p ? 'keep' THEN
              UPDATE states SET state = p->>'state' WHERE agent = v_run.id;
              DELETE FROM entries WHERE agent = v_run.id;
              DELETE FROM messages WHERE agent = v_run.id;
              DELETE FROM runs WHERE agent = v_run.id;
            END IF;
            v_touched := v_touched || v_run.id;
          END IF;
        WHEN 'agent.claim' THEN
          UPDATE agents a SET node = (p->>'node')::bigint, epoch = CASE WHEN a.node = (p->>'node')::bigint THEN a.epoch ELSE a.epoch + 1 END
          WHERE a.id = p->>'agentId' AND (a.node IS NULL OR a.node = (p->>'node')::bigint
            OR NOT EXISTS (SELECT FROM nodes n WHERE n.node = a.node AND n.gone <> 1 AND n.lease_until > v_now))
          RETURNING a.epoch INTO v_count;
          IF NOT FOUND AND NOT EXISTS (SELECT FROM agents WHERE id = p->>'agentId') THEN
            RAISE EXCEPTION 'missing:There is no agent %.', p->>'agentId' USING ERRCODE = 'RKREF';
          END IF;
          v_said := jsonb_build_object('op', 'agent.claim');
          IF v_count IS NOT NULL THEN v_said := v_said || jsonb_build_object('epoch', v_count); END IF;
        WHEN 'agents.claim' THEN
          v_said := {{claim_agents}}(p, v_now);
        WHEN 'node.join' THEN
          IF p ? 'was' THEN UPDATE nodes SET gone = 2 WHERE node = (p->>'was')::bigint; END IF;
          INSERT INTO nodes (name, lease_until) VALUES (p->>'name', least((p->>'leaseUntil')::numeric - v_at + v_now, 9007199254740991)::bigint)
          RETURNING node INTO v_count;
          v_said := jsonb_build_object('op', 'node.join', 'node', v_count);
        WHEN 'node.renew' THEN
          UPDATE nodes SET lease_until = least((p->>'leaseUntil')::numeric - v_at + v_now, 9007199254740991)::bigint
          WHERE node = (p->>'node')::bigint AND gone = 0 AND lease_until > v_now;
          IF NOT FOUND THEN RAISE EXCEPTION 'fenced:The lease of node % has ended.', p->>'node' USING ERRCODE = 'RKREF'; END IF;
        WHEN 'node.leave' THEN
          UPDATE nodes SET gone = 1 WHERE node = (p->>'node')::bigint;
        WHEN 'swarm.put' THEN
          IF p ? 'fresh' AND EXISTS (SELECT FROM swarms WHERE nametag = p->>'nametag') THEN
            RAISE EXCEPTION 'conflict:Swarm already exists: %', p->>'nametag' USING ERRCODE = 'RKREF';
          END IF;
          INSERT INTO swarms (nametag, record) VALUES (p->>'nametag', p->>'record') ON CONFLICT (nametag) DO UPDATE SET record = excluded.record;
          v_touched := v_touched || 'swarms'::text;
        WHEN 'swarm.remove' THEN
          DELETE FROM swarms WHERE nametag = p->>'nametag';
          DELETE FROM swarm_contacts WHERE swarm = p->>'nametag';
          v_touched := v_touched || 'swarms'::text;
        WHEN 'swarm.contact' THEN
          IF NOT EXISTS (SELECT FROM swarms WHERE nametag = p->>'nametag') THEN
            RAISE EXCEPTION 'missing:There is no swarm %.', p->>'nametag' USING ERRCODE = 'RKREF';
          END IF;
          IF p ? 'known' AND NOT EXISTS (SELECT FROM swarm_contacts WHERE swarm = p->>'nametag' AND contact = p->>'contact') THEN
            RAISE EXCEPTION 'missing:Swarm contact not found.' USING ERRCODE = 'RKREF';
          END IF;
          INSERT INTO swarm_contacts AS c (swarm, contact, agent, sent, received, first_at, last_at)
          VALUES (p->>'nametag', p->>'contact', p->>'agent', (p->>'sent')::bigint, (p->>'received')::bigint, v_at, v_at)
          ON CONFLICT (swarm, contact) DO UPDATE SET agent = coalesce(excluded.agent, c.agent), sent = c.sent + excluded.sent,
            received = c.received + excluded.received, last_at = greatest(c.last_at, excluded.last_at);
        WHEN 'person.put' THEN
          PERFORM {{change_person}}(p);
          v_touched := v_touched || 'people'::text;
        WHEN 'rights.move' THEN
          PERFORM {{change_person}}(p);
          v_touched := v_touched || 'people'::text;
        WHEN 'person.remove' THEN
          PERFORM {{change_person}}(p);
          v_touched := v_touched || 'people'::text;
        WHEN 'wait.begin' THEN
          -- Waits of all nodes begin one after the other, so that no two close a cycle together (M11).
          SELECT id INTO v_text FROM agents
          WHERE id = coalesce(p->>'to', (SELECT agent FROM session_keys WHERE key = p->>'key'));
          IF NOT FOUND THEN RAISE EXCEPTION 'missing:There is no agent %.', coalesce(p->>'to', p->>'key') USING ERRCODE = 'RKREF'; END IF;
          IF EXISTS (
            WITH RECURSIVE reached (agent) AS (
              SELECT v_text COLLATE "C"
              UNION
              SELECT waits.awaited FROM reached JOIN waits ON waits.waiter = reached.agent
              JOIN runs ON runs.id = waits.run_id AND runs.agent = waits.waiter AND runs.state = 'open'
            )
            SELECT FROM reached WHERE agent = p->>'from'
          ) THEN
            RAISE EXCEPTION 'cycle:Agent % cannot wait for %: % is waiting for it.', p->>'from', v_text, v_text USING ERRCODE = 'RKREF';
          END IF;
          INSERT INTO waits (id, waiter, awaited, run_id, since) VALUES (p->>'id', p->>'from', v_text, p->>'runId', v_at)
          ON CONFLICT (id) DO UPDATE SET waiter = excluded.waiter, awaited = excluded.awaited, run_id = excluded.run_id;
        WHEN 'wait.end' THEN
          DELETE FROM waits WHERE id = p->>'id';
        WHEN 'budget.settle' THEN
          PERFORM {{settle_reservations}}(ARRAY[p->>'id'], (p->>'tokens')::bigint, (p->>'micros')::bigint, coalesce((p->>'estimated')::boolean, false), v_at);
          v_touched := v_touched || 'budgets'::text;
        WHEN 'budget.forfeit' THEN
          v_count := {{settle_reservations}}(ARRAY(SELECT id FROM reservations WHERE run_id = p->>'runId'), NULL, NULL, true, v_at);
          v_said := jsonb_build_object('op', 'budget.forfeit', 'charged', v_count);
          v_touched := v_touched || 'budgets'::text;
        WHEN 'budget.charge' THEN
          INSERT INTO budgets (key, spent_tokens, spent_micros, at) VALUES (p->>'key', (p->>'tokens')::bigint, (p->>'micros')::bigint, v_at)
          ON CONFLICT (key) DO UPDATE SET spent_tokens = budgets.spent_tokens + excluded.spent_tokens,
            spent_micros = budgets.spent_micros + excluded.spent_micros, at = excluded.at;
          v_touched := v_touched || 'budgets'::text;
        WHEN 'budget.lift' THEN
          INSERT INTO budgets (key, lifted_tokens, lifted_micros, at) VALUES (p->>'key', (p->>'tokens')::bigint, (p->>'micros')::bigint, v_at)
          ON CONFLICT (key) DO UPDATE SET lifted_tokens = budgets.lifted_tokens + excluded.lifted_tokens,
            lifted_micros = budgets.lifted_micros + excluded.lifted_micros, at = excluded.at;
          DELETE FROM budget_told WHERE key = p->>'key';
          v_touched := v_touched || 'budgets'::text;
        WHEN 'budget.sweep' THEN
          v_count := {{settle_reservations}}(ARRAY(SELECT id FROM reservations WHERE at < (p->>'reservedBefore')::bigint ORDER BY id), NULL, NULL, true, v_at);
          v_said := jsonb_build_object('op', 'budget.sweep', 'charged', v_count);
          WITH past AS (
            DELETE FROM budgets WHERE (key >= 'day:' AND key < 'day;' OR key >= 'person:' AND key < 'person;' OR key >= 'quota:' AND key < 'quota;'
                OR key >= 'token:' AND key < 'token;' OR key >= 'profile:' AND key < 'profile;' OR key >= 'messages:' AND key < 'messages;')
              AND at < (p->>'rowsBefore')::bigint AND reserved_tokens = 0 AND reserved_micros = 0 RETURNING key
          ), forgotten AS (DELETE FROM budget_told USING past WHERE budget_told.key = past.key)
          SELECT count(*) INTO v_count FROM past;
          v_said := v_said || jsonb_build_object('removed', v_count);
          v_touched := v_touched || 'budgets'::text;
        WHEN 'job.put' THEN
          -- Written only over the version its writer read, so that of two brokers one wins (L9).
          v_count := coalesce((SELECT version FROM jobs WHERE id = p->>'id' FOR UPDATE), 0);
          IF v_count <> (p->>'expect')::bigint THEN
            RAISE EXCEPTION 'conflict:Job % has version %, not %.', p->>'id', v_count, p->>'expect' USING ERRCODE = 'RKREF';
          END IF;
          INSERT INTO jobs (id, next_at, version, job)
          VALUES (p->>'id', (p->>'nextAt')::bigint, v_count + 1, left(p->>'job', -1) || ',"version":' || (v_count + 1) || '}')
          ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at, version = excluded.version, job = excluded.job;
          v_touched := v_touched || (p->>'word');
        WHEN 'job.remove' THEN
          v_count := coalesce((SELECT version FROM jobs WHERE id = p->>'id' FOR UPDATE), 0);
          IF v_count <> (p->>'expect')::bigint THEN
            RAISE EXCEPTION 'conflict:Job % has version %, not %.', p->>'id', v_count, p->>'expect' USING ERRCODE = 'RKREF';
          END IF;
          DELETE FROM jobs WHERE id = p->>'id';
          v_touched := v_touched || (p->>'word');
        WHEN 'job.slot' THEN
          INSERT INTO job_slots (job, slot, at, row) VALUES (p->>'id', p->>'slot', (p->>'at')::bigint, p->>'row') ON CONFLICT (job, slot) DO NOTHING;
          IF NOT FOUND THEN
            RAISE EXCEPTION 'conflict:Slot % of job % already has a row.', p->>'slot', p->>'id' USING ERRCODE = 'RKREF';
          END IF;
        WHEN 'job.ran' THEN
          -- The caller computed what the job becomes from the version it read. If the job has another version by now, the
          -- caller reads it and computes again.
          v_count := coalesce((SELECT version FROM jobs WHERE id = p->>'id' FOR UPDATE), 0);
          IF v_count <> (p->>'version')::bigint THEN RAISE EXCEPTION 'job % has changed', p->>'id' USING ERRCODE = 'RKAGN'; END IF;
          IF p ? 'row' THEN UPDATE job_slots SET row = p->>'row' WHERE job = p->>'id' AND slot = p->>'slot'; END IF;
          IF p ? 'job' THEN
            UPDATE jobs SET next_at = (p->>'nextAt')::bigint, version = v_count + 1, job = left(p->>'job', -1) || ',"version":' || (v_count + 1) || '}'
            WHERE id = p->>'id';
          ELSE
            DELETE FROM jobs WHERE id = p->>'id';
          END IF;
          v_touched := v_touched || (p->>'word');
        WHEN 'subagent.put' THEN
          IF p ? 'expect' THEN
            v_text := coalesce((SELECT CASE WHEN ended THEN 'ended' ELSE 'open' END FROM subagent_runs WHERE run_id = p->>'runId'), 'missing');
            IF v_text <> p->>'expect' THEN
              RAISE EXCEPTION 'conflict:The record of % is %, not %.', p->>'runId', v_text, p->>'expect' USING ERRCODE = 'RKREF';
            END IF;
          END IF;
          INSERT INTO subagent_runs (run_id, requester, record, ended, due_at)
          VALUES (p->>'runId', p->>'requester', p->>'record', p ? 'ended', (p->>'dueAt')::bigint)
          ON CONFLICT (run_id) DO UPDATE SET requester = excluded.requester, record = excluded.record, ended = excluded.ended, due_at = excluded.due_at;
          v_touched := v_touched || 'subagents'::text;
        WHEN 'subagent.remove' THEN
          DELETE FROM subagent_runs WHERE run_id = p->>'runId';
          v_touched := v_touched || 'subagents'::text;
        WHEN 'approval.decide' THEN
          UPDATE approvals SET state = p->>'to', due_at = coalesce((p->>'until')::bigint, due_at),
            ended_at = CASE WHEN p->>'to' <> 'approved' THEN v_at END, decided_at = v_at, decided_by = p->>'by',
            surface = p->>'surface', reason = p->>'reason', shown = CASE WHEN p->>'to' = 'withdrawn' THEN shown ELSE -1 END
          WHERE id = p->>'id' AND agent = p->>'agentId' AND state = p->>'from' AND digest = p->>'digest';
          IF NOT FOUND THEN
            RAISE EXCEPTION 'conflict:Approval % is not %, or is about another call.', p->>'id', p->>'from' USING ERRCODE = 'RKREF';
          END IF;
          v_touched := v_touched || (p->>'agentId');
        WHEN 'approval.shown' THEN
          UPDATE approvals SET shown = shown + 1
          WHERE id = p->>'id' AND agent = p->>'agentId' AND state IN ('pending', 'withdrawn') AND shown >= 0;
          IF FOUND THEN v_touched := v_touched || (p->>'agentId'); END IF;
        WHEN 'approval.told' THEN
          UPDATE approvals SET shown = -1 WHERE id = p->>'id' AND agent = p->>'agentId' AND state = 'withdrawn' AND shown > 0;
          IF NOT FOUND THEN
            RAISE EXCEPTION 'conflict:Approval % is not withdrawn, or has its notice.', p->>'id' USING ERRCODE = 'RKREF';
          END IF;
          IF p ? 'delivery' THEN
            INSERT INTO deliveries (id, agent, run_id, state, next_at, created_at, ended_at, reason, target, payload)
            VALUES (p->'delivery'->>'id', p->>'agentId', p->'delivery'->>'runId', coalesce(p->'delivery'->>'state', 'pending'),
              (p->'delivery'->>'at')::bigint, (p->'delivery'->>'at')::bigint, CASE WHEN p->'delivery' ? 'ended' THEN v_at END,
              p->'delivery'->>'reason', p->'delivery'->>'target', p->'delivery'->>'payload');
          END IF;
          v_touched := v_touched || (p->>'agentId');
        WHEN 'approval.withdraw' THEN
          SELECT id, suspended INTO v_run FROM agents
          WHERE id = coalesce(p->>'agentId', (SELECT agent FROM session_keys WHERE key = p->>'key')) FOR UPDATE;
          v_said := jsonb_build_object('op', 'approval.withdraw', 'withdrawn', 0);
          IF FOUND THEN
            UPDATE approvals SET state = 'withdrawn', ended_at = v_at, decided_at = v_at, decided_by = 'system', reason = p->>'reason'
            WHERE agent = v_run.id AND id = coalesce(p->>'id', id) AND state IN ('pending', 'approved');
            GET DIAGNOSTICS v_count = ROW_COUNT;
            v_said := jsonb_build_object('op', 'approval.withdraw', 'withdrawn', v_count);
            IF v_count > 0 THEN v_touched := v_touched || v_run.id; END IF;
            IF v_run.suspended THEN
              UPDATE agents SET suspended = false, busy = true WHERE id = v_run.id;
              v_said := v_said || jsonb_build_object('woken', v_run.id);
            END IF;
          END IF;
        WHEN 'file.stage' THEN
          INSERT INTO blob_trash (blob, due_at) SELECT value, (p->>'until')::bigint FROM jsonb_array_elements_text(p->'blobs');
        WHEN 'file.put' THEN
          v_said := {{put_file}}(p);
          IF v_said->>'status' = 'stored' THEN v_touched := v_touched || 'files'::text; END IF;
        WHEN 'file.hold' THEN
          PERFORM {{hold_files}}(p);
          v_touched := v_touched || 'files'::text;
        WHEN 'file.remove' THEN
          IF {{drop_files}}(ARRAY[p->>'id'], v_at) = 0 THEN
            RAISE EXCEPTION 'missing:There is no file %.', p->>'id' USING ERRCODE = 'RKREF';
          END IF;
          v_touched := v_touched || 'files'::text;
        WHEN 'file.sweep' THEN
          v_said := {{sweep_files}}(p, v_at);
          IF (v_said->>'removed')::bigint > 0 THEN v_touched := v_touched || 'files'::text; END IF;
        WHEN 'file.gone' THEN
          DELETE FROM blob_trash WHERE doomed AND blob IN (SELECT jsonb_array_elements_text(p->'blobs'));
        WHEN 'agent.erase' THEN
          PERFORM {{erase_agent}}(p, v_at);
          v_touched := v_touched || ARRAY[p->>'agentId', 'subagents', 'budgets', 'files'];
        WHEN 'person.erase' THEN
          PERFORM {{erase_person}}(p);
          v_touched := v_touched || ARRAY['jobs', 'slots', 'budgets', 'people'];
        WHEN 'audit.add' THEN
          INSERT INTO audit (at, person, agent, action, decision, entry)
            VALUES ((p->>'at')::bigint, p->>'person', p->>'agent', p->>'action', p->>'decision', p->>'entry');
        WHEN 'fact.put' THEN
          IF p ? 'expect' AND (SELECT value FROM facts WHERE key = p->>'key') IS DISTINCT FROM (p->'expect'->>0) THEN
            RAISE EXCEPTION 'conflict:The fact % has changed.', p->>'key' USING ERRCODE = 'RKREF';
          END IF;
          IF p ? 'value' THEN
            INSERT INTO facts (key, value) VALUES (p->>'key', p->>'value') ON CONFLICT (key) DO UPDATE SET value = excluded.value;
          ELSE
            DELETE FROM facts WHERE key = p->>'key';
          END IF;
          IF p->>'key' = 'conversations' THEN v_touched := v_touched || 'people'::text; END IF;
        WHEN 'request.put' THEN
          SELECT digest, reply, keep_until INTO v_run FROM requests WHERE key = p->>'key';
          IF FOUND AND v_run.keep_until > v_at AND v_run.digest <> p->>'digest' THEN
            RAISE EXCEPTION 'conflict:The key belongs to another request.' USING ERRCODE = 'RKREF';
          ELSIF FOUND AND v_run.keep_until > v_at AND v_run.reply IS NOT NULL THEN
            RAISE EXCEPTION 'conflict:The request of this key has its reply.' USING ERRCODE = 'RKREF';
          ELSIF FOUND AND v_run.keep_until > v_at THEN
            UPDATE requests SET reply = p->>'reply' WHERE key = p->>'key';
          ELSE
            INSERT INTO requests (key, digest, reply, keep_until) VALUES (p->>'key', p->>'digest', p->>'reply', (p->>'keep')::bigint)
            ON CONFLICT (key) DO UPDATE SET digest = excluded.digest, agent = NULL, seq = NULL, finished = false,
              reply = excluded.reply, keep_until = excluded.keep_until;
          END IF;
        WHEN 'request.finish' THEN
          UPDATE requests SET finished = true WHERE key = p->>'key' AND agent = p->>'agent' AND seq = (p->>'seq')::bigint;
        WHEN 'prune' THEN
          v_said := {{prune}}(p->>'what', (p->>'before')::bigint, (p->>'limit')::bigint, p->>'after');
        ELSE
          RAISE EXCEPTION 'Unexpected op %', p->>'op';
      END CASE;
      IF v_owner IS NOT NULL THEN SELECT * INTO o FROM agents WHERE id = o.id; END IF;
    END IF;
    IF v_said IS NOT NULL THEN
      v_results := coalesce(v_results, '{}'::jsonb) || jsonb_build_object(v_index::text, v_said);
    END IF;
  END LOOP;
  IF v_dirty THEN
    UPDATE agents SET session_id = o.session_id, next_seq = o.next_seq, cursor = o.cursor, waiting = o.waiting, next_pos = o.next_pos,
      leaf = o.leaf, run_id = o.run_id, node = o.node, suspended = o.suspended,
          busy = o.waiting > 0 OR (o.run_id IS NOT NULL AND NOT o.suspended)
    WHERE id = o.id;
  END IF;
  INSERT INTO changes (id, at, touched, result) VALUES (c->>'id', v_at, v_touched, (v_results || jsonb_build_object('ops', v_index + 1))::text);
  RETURN jsonb_build_object('ok', coalesce(v_results, '{}'::jsonb));
END $$
