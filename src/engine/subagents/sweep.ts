/**
 * Archives children that have rested long enough. One timer is set to the next due record; without one, no timer runs. A child
 * that is kept only leaves the registry: a late message wakes it. A child with `cleanup: delete` is removed after its report,
 * once it and its descendants are idle.
 */

import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Op } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import { type DueSweep, startDueSweep } from "../due-sweep.ts";
import type { Emit } from "../engine-event.ts";
import type { RegistryPorts } from "./registry.ts";

const PORTION = 100;
/** A record that cannot be archived yet is tried again after this time. */
const LATER_MS = 60_000;

/** `shared`: whether other nodes end children too. */
export const startSweep = (
  ports: RegistryPorts,
  { shared, emit }: { readonly shared: boolean; readonly emit: Emit },
): DueSweep =>
  startDueSweep(ports, {
    shared,
    failed: "children could not be archived; tried again later",
    laterMs: LATER_MS,
    sweep: () => sweepSubagentRuns(ports, emit),
  });

/** Archives what is due now. Returns when the next record is due, if there is one. */
async function sweepSubagentRuns(ports: RegistryPorts, emit?: Emit): Promise<number | undefined> {
  const { store, clock } = ports;
  for (;;) {
    const now = clock.now();
    const due = await store.subagentRuns({ dueBy: now, limit: PORTION });
    let isStuck = true;
    for (const record of due) if (await archive(ports, record, now, emit)) isStuck = false;
    if (due.length < PORTION || isStuck) break;
  }
  const [next] = await store.subagentRuns({ dueBy: Number.MAX_SAFE_INTEGER, limit: 1 });
  return next?.archiveAtMs === undefined ? undefined : Math.max(next.archiveAtMs, clock.now() + 1_000);
}

/** True if the record is no longer due. Two nodes may do this at the same time without harm. */
async function archive(ports: RegistryPorts, record: SubagentRunRecord, now: number, emit?: Emit): Promise<boolean> {
  const { store } = ports;
  const child = record.childAgentId === undefined ? undefined : await store.agent(record.childAgentId as AgentId);
  const ops = await opsFor(ports, record, child, now);
  const { ok } = await submit(ports, "subagent.archive", ops);
  // A child that was removed may have had open questions.
  if (ok && ops.some(({ op }) => op === "agent.remove")) emit?.({ type: "withdrawn" });
  return ok;
}

async function opsFor(
  { store, settings }: RegistryPorts,
  record: SubagentRunRecord,
  child: AgentRecord | undefined,
  now: number,
): Promise<readonly Op[]> {
  const forget: Op = { op: "subagent.remove", runId: record.runId };
  if (!child || child.stopped?.removed) return [forget];
  const later = (archiveAtMs: number): readonly Op[] => [
    { op: "subagent.put", record: { ...record, archiveAtMs }, expect: "ended" },
  ];
  const working = child.waiting > 0 || child.runId !== undefined;
  if (working || (await store.openSubagentRuns(child.sessionKey)) > 0) return later(now + LATER_MS);
  if (record.cleanup === "delete") {
    return [{ op: "agent.remove", agentId: child.id, reason: "its task is done (cleanup: delete)" }, forget];
  }
  const { archiveAfterMinutes } = settings.current.subagents;
  const rested = child.state.updatedAt + Math.max(1, archiveAfterMinutes) * 60_000;
  return rested > now ? later(rested) : [forget];
}
