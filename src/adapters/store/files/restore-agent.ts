/** Makes one agent in the database from its files: its row, its history, and everything that was pending as it was. */
import { isUrgent } from "../../../core/message/message.ts";
import type { AgentFiles } from "./read-agent-files.ts";
import { restoreHistory } from "./restore-history.ts";
import type { Restoring } from "./restoring.ts";
import { statementsOf } from "./sqlite-source.ts";

export interface RestoredCounts {
  readonly entries: number;
  readonly waiting: number;
  readonly dedupeKeys: number;
}

/** Writes the agent's rows inside the caller's transaction. Throws what SQLite throws, for instance on a key taken twice. */
export function restoreAgent(restoring: Restoring, agent: AgentFiles): RestoredCounts {
  const { db } = restoring;
  const statement = statementsOf(db.sql);
  const { descriptor, pending } = agent;
  const { state, engine } = agent.state;
  const parent = descriptor.type === "subagent" ? descriptor.parentAgentId : null;
  // The row comes first, because lines refer to it; its counters follow when the lines are known.
  const no = Number(
    statement("restore-agent").run(
      agent.id,
      engine.sessionKey,
      engine.profile,
      descriptor.type,
      parent,
      JSON.stringify(descriptor),
      engine.createdAt,
      engine.sessionId,
      1,
      0,
      0,
      0,
      "",
      null,
      pending?.lastHumanAt ?? null,
      engine.stopped ? JSON.stringify(engine.stopped) : null,
      JSON.stringify(state),
    ).lastInsertRowid,
  );
  db.statement("insert-session-key").run(engine.sessionKey, no);
  const history = restoreHistory(restoring, agent.paths.history, no);
  const nextSeq = Math.max(pending?.nextSeq ?? 1, history.lastSeq + 1);
  let waiting = 0;
  let firstWaiting = nextSeq;
  for (const { seq, state: was, runId, message } of pending?.messages ?? []) {
    // The history was written before the pending file: a message in both was taken.
    const taken = was === "taken" || history.seqs.has(seq);
    const urgent = isUrgent(message.body) ? 1 : 0;
    statement("restore-message").run(
      no,
      seq,
      taken ? "taken" : "waiting",
      urgent,
      message.acceptedAt,
      runId ?? null,
      JSON.stringify(message),
    );
    if (taken) continue;
    waiting += 1;
    firstWaiting = Math.min(firstWaiting, seq);
  }
  const { run } = pending ?? {};
  if (run) {
    statement("restore-run").run(
      run.id,
      no,
      run.sessionId,
      run.attempt,
      run.step,
      run.startedAt,
      run.abort === undefined ? null : JSON.stringify(run.abort),
      JSON.stringify(run.body),
    );
  }
  for (const delivery of pending?.deliveries ?? []) {
    statement("restore-delivery").run(
      delivery.id,
      no,
      delivery.runId ?? null,
      delivery.state,
      delivery.attempts,
      delivery.nextAt,
      delivery.createdAt,
      delivery.reason ?? null,
      JSON.stringify(delivery.target),
      JSON.stringify(delivery.payload),
    );
  }
  for (const [key, seq, keepUntil] of pending?.dedupe ?? []) statement("restore-dedupe").run(key, no, seq, keepUntil);
  const leaf = pending && pending.nextPos === history.lines ? pending.leaf : history.lastId;
  statement("restore-counters").run(
    history.sessionId ?? engine.sessionId,
    nextSeq,
    firstWaiting - 1,
    waiting,
    history.lines,
    leaf,
    run?.id ?? null,
    no,
  );
  return { entries: history.lines, waiting, dedupeKeys: pending?.dedupe.length ?? 0 };
}
