/** Ops on the inbox: post, take, settle. A sequence comes from the agent's own row, never from a clock (M3). */
import type { AgentSeed } from "../../../core/agent/agent.ts";
import { isUrgent } from "../../../core/message/message.ts";
import type { Op, OpResult, Recipient } from "../../../core/store/change.ts";
import { type AgentDraft, advanceCursor } from "./agent-draft.ts";
import { claim, insertAgent, isRemoved, livingNode } from "./apply-agent.ts";
import { type Applying, ownerOf, touch } from "./apply-change.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

/** Puts a message into an inbox, or recognises one that was accepted before (M5). */
export function postMessage(applying: Applying, op: OpOf<"message.post">): OpResult {
  const { db, drafts } = applying;
  const found = "agentId" in op.to ? drafts.get(op.to.agentId) : drafts.byKey(op.to.sessionKey);
  if (!found && op.dedupe) {
    const before = seenBefore(db, op.dedupe.key);
    if (before) return before;
  }
  if (found && isRemoved(found)) throw new RefusedChange("missing", `Agent ${found.id} was removed.`);
  const draft = found ?? insertAgent(applying, seedOf(op.to));
  const { body, acceptedAt } = op.message;
  const seq = draft.next_seq;
  if (op.dedupe) {
    const { changes } = db.statement("insert-dedupe").run(op.dedupe.key, draft.no, seq, op.dedupe.keepUntil);
    const before = changes === 0 ? seenBefore(db, op.dedupe.key) : undefined;
    if (before) return before;
  }
  db.statement("insert-message").run(draft.no, seq, isUrgent(body) ? 1 : 0, acceptedAt, JSON.stringify(op.message));
  draft.next_seq += 1;
  draft.waiting += 1;
  touch(applying, draft, "inbox");
  if (body.kind === "user" && draft.kind === "user")
    draft.last_human_at = Math.max(draft.last_human_at ?? 0, acceptedAt);
  if (op.claimFor !== undefined) claim(applying, draft, op.claimFor);
  const { node, epoch } = draft;
  const holder = node !== null && (node === op.claimFor || livingNode(applying, node)) ? { node, epoch } : undefined;
  const alone = draft.waiting === 1 || undefined;
  return { op: "message.post", agentId: draft.id, seq, duplicate: false, created: !found, holder, alone };
}

function seenBefore(db: Database, key: string): OpResult | undefined {
  const row = db.statement("select-dedupe").get(key);
  if (!row) return undefined;
  const agentId = row.agent_id as AgentDraft["id"];
  return { op: "message.post", agentId, seq: Number(row.seq), duplicate: true, created: false };
}

function seedOf(to: Recipient): AgentSeed {
  if ("create" in to && to.create) return to.create;
  throw new RefusedChange("missing", `There is no agent ${"agentId" in to ? to.agentId : to.sessionKey}.`);
}

export function takeMessages(applying: Applying, op: OpOf<"message.take">): undefined {
  const owner = ownerOf(applying);
  const seen = op.unlessResetAfter;
  if (seen !== undefined && owner.next_seq > seen + 1) {
    const reset = applying.db.statement("select-waiting-reset").get(owner.no, seen);
    if (reset)
      throw new RefusedChange("conflict", `Message ${String(reset.seq)} of ${owner.id} is a reset and goes first.`);
  }
  for (const seq of op.seqs) {
    const { changes } = applying.db.statement("take-message").run(op.runId, owner.no, seq);
    if (changes !== 1) throw new RefusedChange("conflict", `Message ${seq} of ${owner.id} does not wait.`);
    owner.waiting -= 1;
  }
  advanceCursor(applying.db, owner);
  touch(applying, owner, "inbox");
}

export function settleMessages(applying: Applying, op: OpOf<"message.settle">): undefined {
  const { db, change } = applying;
  const owner = ownerOf(applying);
  let waited = false;
  const statement = db.statement("settle-message");
  for (const { seq, from, state, runId, reason } of op.settlements) {
    const { changes } = statement.run(state, runId ?? null, reason ?? null, change.at, owner.no, seq, from);
    if (changes !== 1) throw new RefusedChange("conflict", `Message ${seq} of ${owner.id} is not ${from}.`);
    if (from === "taken") continue;
    owner.waiting -= 1;
    waited = true;
  }
  if (waited) advanceCursor(db, owner);
  touch(applying, owner, "inbox");
}
