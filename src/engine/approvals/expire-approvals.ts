/**
 * Ends questions and unused yeses whose time is over, like other due rows. One timer is set to the next of them; without one, no
 * timer runs. Several nodes may do this at the same time: a row leaves its state once.
 */
import { errorText } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { Op } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import { type Emit, emitPosted } from "../engine-event.ts";
import { auditOf, wakingPost } from "./decide-approval.ts";

export interface ExpirySweep {
  /** A row may be due at this time. */
  due(at: number): void;
  stop(): void;
}

interface SweepHost {
  readonly emit: Emit;
  readonly shared: boolean;
  claimFor(): number | undefined;
}

type SweepPorts = Pick<Ports, "store" | "ids" | "clock" | "log">;

const PORTION = 100;
/** Other nodes ask too: the table is read at least this often. */
const LOOK_AGAIN_MS = 60_000;
const LATER_MS = 10_000;

export function startExpirySweep(ports: SweepPorts, host: SweepHost): ExpirySweep {
  const { clock, log } = ports;
  let cancel = (): void => {};
  let at = Number.POSITIVE_INFINITY;
  let stopped = false;
  const arm = (when: number): void => {
    if (stopped || when >= at) return;
    cancel();
    at = when;
    cancel = clock.after(Math.max(0, when - clock.now()), () => {
      at = Number.POSITIVE_INFINITY;
      void sweep();
    });
  };
  const sweep = async (): Promise<void> => {
    try {
      const next = await expireApprovals(ports, host);
      arm(
        Math.min(
          next ?? Number.POSITIVE_INFINITY,
          host.shared ? clock.now() + LOOK_AGAIN_MS : Number.POSITIVE_INFINITY,
        ),
      );
    } catch (error) {
      log.warn("approvals could not be ended; tried again later", { error: errorText(error) });
      arm(clock.now() + LATER_MS);
    }
  };
  void sweep();
  return {
    due: arm,
    stop() {
      stopped = true;
      cancel();
    },
  };
}

/** Ends what is due now. Returns when the next row is due, if there is one. */
export async function expireApprovals(ports: SweepPorts, host: SweepHost): Promise<number | undefined> {
  const { store, clock } = ports;
  for (;;) {
    const now = clock.now();
    const due = await store.approvalsDue({ by: now, limit: PORTION });
    let progress = 0;
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
      progress += 1;
      emitPosted(host.emit, done.results);
    }
    if (due.length < PORTION || progress === 0) break;
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
    wakingPost(approval, { approved: false, by: "system", how: "not answered in time", until: at }, at),
  ];
}
