/**
 * Ends questions and unused yeses whose time is over, like other due rows. One timer is set to the next of them; without one, no
 * timer runs. Several nodes may do this at the same time: a row leaves its state once.
 */
import type { Ports } from "../../core/ports/ports.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { Op } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import { type DueSweep, startDueSweep } from "../due-sweep.ts";
import { type Emit, emitPosted } from "../engine-event.ts";
import { auditOf, wakingPost } from "./decide-approval.ts";

interface SweepHost {
  readonly emit: Emit;
  readonly shared: boolean;
  claimFor(): number | undefined;
}

type SweepPorts = Pick<Ports, "store" | "ids" | "clock" | "log">;

const PORTION = 100;
const LATER_MS = 10_000;

export const startExpirySweep = (ports: SweepPorts, host: SweepHost): DueSweep =>
  startDueSweep(ports, {
    shared: host.shared,
    failed: "approvals could not be ended; tried again later",
    laterMs: LATER_MS,
    sweep: () => expireApprovals(ports, host),
  });

/** Ends what is due now. Returns when the next row is due, if there is one. */
async function expireApprovals(ports: SweepPorts, host: SweepHost): Promise<number | undefined> {
  const { store, clock } = ports;
  for (;;) {
    const now = clock.now();
    const due = await store.approvalsDue({ by: now, limit: PORTION });
    let hasEnded = false;
    for (const approval of due) {
      const ops = expiryOps(approval, now);
      const first = await submit(ports, "approval.expire", ops, { claimFor: host.claimFor() });
      // An agent that was removed gets no message.
      const isGone = !first.ok && first.refused === "missing";
      const done = isGone
        ? await submit(
            ports,
            "approval.expire",
            ops.filter(({ op }) => op !== "message.post"),
          )
        : first;
      if (!done.ok) continue;
      hasEnded = true;
      emitPosted(host.emit, done.results);
    }
    if (due.length < PORTION || !hasEnded) break;
  }
  const [next] = await store.approvalsDue({ limit: 1 });
  return next && Math.max(next.dueAt, clock.now() + 1_000);
}

/** A yes that no call has used ends without a message: no run waits for it. */
function expiryOps(approval: Approval, at: number): readonly Op[] {
  const { id, agentId, digest, state } = approval;
  const from = state === "approved" ? "approved" : "pending";
  const reason = from === "approved" ? "the yes was not used in time" : "no one answered in time";
  const end: Op = {
    op: "approval.decide",
    id,
    agentId,
    digest,
    from,
    to: "expired",
    by: "system",
    surface: "system",
    reason,
  };
  if (from === "approved") return [end];
  const system = { person: approval.behalf.person, surface: "system" };
  return [
    end,
    { op: "audit.add", entry: auditOf(approval, "deny", system, at, reason) },
    wakingPost(approval, { approved: false, by: "system", how: "not answered in time" }, at),
  ];
}
