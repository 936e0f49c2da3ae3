/** Ops on waits. One writer applies changes one after the other, so no two waits can close a circle together (M11). */
import type { Op } from "../../../core/store/change.ts";
import type { Applying } from "./apply-change.ts";
import { RefusedChange } from "./refused.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

/** Refused where the awaited agent waits, directly or over others, for the waiter; also for oneself. */
export function beginWait({ db, drafts, change }: Applying, { id, from, to, runId }: OpOf<"wait.begin">): undefined {
  const awaited = "agentId" in to ? drafts.find(to.agentId) : drafts.byKey(to.sessionKey);
  if (!awaited) {
    throw new RefusedChange("missing", `There is no agent ${"agentId" in to ? to.agentId : to.sessionKey}.`);
  }
  if (db.statement("wait-closes-circle").get(awaited.id, from)) {
    throw new RefusedChange("cycle", `Agent ${from} cannot wait for ${awaited.id}: ${awaited.id} is waiting for it.`);
  }
  db.statement("put-wait").run(id, from, awaited.id, runId, change.at);
}

export function endWait({ db }: Applying, { id }: OpOf<"wait.end">): undefined {
  db.statement("remove-wait").run(id);
}
