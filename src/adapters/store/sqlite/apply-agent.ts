/** Ops that make, claim, release and stop agents. */
import type { AgentSeed, StopMark } from "../../../core/agent/agent.ts";
import { freshState } from "../../../core/agent/state.ts";
import type { Op, OpResult } from "../../../core/store/change.ts";
import type { AgentDraft } from "./agent-draft.ts";
import { type Applying, ownerOf, stoppedBy, touch } from "./apply-change.ts";
import { RefusedChange } from "./refused.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

/** Makes an agent unless its session key is taken: then the one that has it is the answer (races make one). */
export function createAgent(applying: Applying, { seed, fresh }: OpOf<"agent.create">): OpResult {
  const { drafts } = applying;
  const taken = drafts.byKey(seed.sessionKey);
  if (taken && fresh) throw new RefusedChange("conflict", `The session key ${seed.sessionKey} is taken.`);
  if (taken) return { op: "agent.create", agentId: taken.id, created: false };
  return { op: "agent.create", agentId: insertAgent(applying, seed).id, created: true };
}

/** Writes a new agent with the lines its history begins with. A stopped ancestor refuses (M20). */
export function insertAgent(applying: Applying, seed: AgentSeed): AgentDraft {
  const { db, drafts } = applying;
  const { descriptor } = seed;
  const parent = descriptor.type === "subagent" ? descriptor.parentAgentId : null;
  if (parent !== null) {
    const stopped = stoppedBy(db, { id: seed.id, parent, stopped: null });
    if (stopped) throw new RefusedChange("stopped", `Agent ${stopped} was stopped.`);
  }
  const { lastInsertRowid } = db
    .statement("insert-agent")
    .run(
      seed.id,
      seed.sessionKey,
      seed.profile,
      descriptor.type,
      parent,
      JSON.stringify(descriptor),
      seed.createdAt,
      seed.sessionId,
      seed.lines.length,
      seed.leaf,
      JSON.stringify(seed.state),
    );
  const no = Number(lastInsertRowid);
  db.statement("insert-session-key").run(seed.sessionKey, no);
  seed.lines.forEach((line, position) => {
    db.statement("insert-entry").run(no, position, line);
  });
  const draft = drafts.get(seed.id);
  touch(applying, draft, "inbox");
  return draft;
}

/** Whether a node lives: it has not left and its lease runs at the change's time. */
export function livingNode({ db, change }: Applying, node: number): boolean {
  return db.statement("select-living-node").get(node, change.at) !== undefined;
}

/** Gives an agent to a node if nobody living holds it; each hand-over raises the epoch. */
export function claim(applying: Applying, draft: AgentDraft, node: number): boolean {
  if (draft.node === node) return true;
  if (draft.node !== null && livingNode(applying, draft.node)) return false;
  draft.node = node;
  draft.epoch += 1;
  touch(applying, draft, "inbox");
  return true;
}

export function claimAgent(applying: Applying, op: OpOf<"agent.claim">): OpResult {
  const draft = applying.drafts.get(op.agentId);
  return { op: "agent.claim", epoch: claim(applying, draft, op.node) ? draft.epoch : undefined };
}

export function claimAgents(applying: Applying, op: OpOf<"agents.claim">): OpResult {
  // The statement looks at rows: those that changes of the same group have changed must be there first.
  applying.drafts.write();
  const after = op.after === undefined ? 0 : (applying.drafts.find(op.after)?.no ?? 0);
  const own = op.own ? op.node : -1;
  const rows = applying.db.statement("claimable-agents").all(after, own, applying.change.at, op.limit);
  const claims = rows.map((row) => {
    const draft = applying.drafts.byNumber(Number(row.no));
    claim(applying, draft, op.node);
    return { agentId: draft.id, epoch: draft.epoch };
  });
  return { op: "agents.claim", claims };
}

/** Compares the counters in the releasing statement itself: a message that came in between refuses the release (M3). */
export function releaseAgent(applying: Applying): OpResult {
  const draft = ownerOf(applying);
  const idle = draft.waiting === 0 && draft.run_id === null;
  if (idle) {
    draft.node = null;
    touch(applying, draft, "inbox");
  }
  return { op: "agent.release", released: idle };
}

/** The descriptor is written once, except that a permanent agent may be told otherwise about itself. */
export function describeAgent(applying: Applying, { descriptor }: OpOf<"agent.describe">): undefined {
  const owner = ownerOf(applying);
  if (owner.kind !== "permanent" || descriptor.type !== "permanent") {
    throw new RefusedChange("conflict", `Agent ${owner.id} is of the kind ${owner.kind} and stays what it is.`);
  }
  applying.db.statement("update-descriptor").run(JSON.stringify(descriptor), owner.no);
  touch(applying, owner, "inbox");
}

/** Sets or takes back a stop. The mark says what came before it: everything below the sequence of its moment. */
export function stopAgent(applying: Applying, op: OpOf<"agent.stop">): undefined {
  const draft = applying.drafts.get(op.agentId);
  const mark = markOf(draft);
  if (mark?.removed) throw new RefusedChange("missing", `Agent ${draft.id} was removed.`);
  if (op.ifSeq !== undefined && mark?.seq !== op.ifSeq) {
    throw new RefusedChange("conflict", `Agent ${draft.id} bears another stop than the one of ${op.ifSeq}.`);
  }
  draft.stopped = op.mark === null ? null : JSON.stringify({ ...op.mark, seq: draft.next_seq });
  touch(applying, draft, "all");
}

const markOf = ({ stopped }: AgentDraft): StopMark | undefined =>
  stopped === null ? undefined : (JSON.parse(stopped) as StopMark);

/** Whether an agent is gone for ever. */
export const isRemoved = (draft: AgentDraft): boolean => markOf(draft)?.removed === true;

/**
 * Removes an agent that rests. Its row stays, with its parent and a mark, so that whoever it started still finds the way
 * up; everything else of it goes. Whoever held it is fenced.
 */
export function removeAgent(applying: Applying, op: OpOf<"agent.remove">): undefined {
  const { db, drafts, change } = applying;
  const draft = drafts.get(op.agentId);
  if (isRemoved(draft)) return;
  if (draft.waiting > 0 || draft.run_id !== null) {
    throw new RefusedChange("conflict", `Agent ${draft.id} is at work: ${draft.waiting} wait, run ${draft.run_id}.`);
  }
  const mark: StopMark = { at: change.at, reason: op.reason, seq: draft.next_seq, removed: true };
  draft.stopped = JSON.stringify(mark);
  draft.node = null;
  draft.epoch += 1;
  draft.last_human_at = null;
  db.statement("remove-session-key").run(draft.no);
  if (!op.keep) {
    draft.state = JSON.stringify(freshState(change.at));
    draft.next_pos = 0;
    for (const what of ["entries", "messages", "runs"]) db.statement(`remove-${what}`).run(draft.no);
  }
  drafts.unkey(draft);
  touch(applying, draft, "all");
}
