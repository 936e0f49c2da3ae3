/** Careless changes to how children are started, reported and stopped. Each names the law that must find it (L6, L7). */

import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Change, CommitResult, Op } from "../../../src/core/store/change.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { Mutation } from "./mutations.ts";

const isReport = (op: Op): boolean => op.op === "message.post" && op.message.body.kind === "report";
const isSpawn = (op: Op): boolean =>
  (op.op === "subagent.put" && op.record.endedAt === undefined) || (op.op === "message.post" && "create" in op.to);

export const SUBAGENT_MUTATIONS: readonly Mutation[] = [
  {
    name: "report later",
    about: "a child's run ends in one commit, its report is posted in the next",
    law: "L6",
    scenario: "children",
    from: 23,
    ports: splitting((change) => change.site === "rest" && change.ops.some(isReport), isReport, "after"),
  },
  {
    name: "report per run",
    about: "every run of a child reports, not only the run of its spawn",
    law: "L6",
    scenario: "children-trees",
    ports: (ports) => ({ ...ports, store: reportingAlways(ports.store) }),
  },
  {
    name: "stop without ancestors",
    about: "a stop applies to its agent but not to its descendants",
    law: "L7",
    scenario: "children-stopped",
    from: 2,
    store: (sound, db) => ({
      ...sound,
      apply(changes) {
        const results = sound.apply(changes);
        db.sql.exec("UPDATE agents SET parent = NULL WHERE parent IS NOT NULL");
        db.agentCache.clear();
        return results;
      },
    }),
  },
  {
    name: "spawn before its result",
    about: "a child is started in one commit, its parent's history records it in the next",
    law: "L6",
    scenario: "children",
    from: 23,
    ports: splitting((change) => change.site === "result" && change.ops.some(isSpawn), isSpawn, "before"),
  },
  {
    name: "silent death",
    about: "only children that finish normally report",
    law: "L6",
    scenario: "children",
    from: 23,
    ports: dropping((change) => change.site !== "rest"),
  },
];

/** Splits a commit: the ops that `apart` selects go before or after the rest, in a separate commit. */
function splitting(
  concerns: (change: Change) => boolean,
  apart: (op: Op) => boolean,
  when: "before" | "after",
): (ports: Ports) => Ports {
  return (ports) => {
    const { store } = ports;
    const commit = async (change: Change): Promise<CommitResult> => {
      if (!concerns(change)) return store.commit(change);
      const alone: Change = {
        id: ports.ids.change(),
        site: `${change.site}.apart`,
        at: change.at,
        ops: change.ops.filter(apart),
      };
      const rest: Change = { ...change, ops: change.ops.filter((op) => !apart(op)) };
      const first = await store.commit(when === "before" ? alone : rest);
      if (!first.ok) return first;
      const second = await store.commit(when === "before" ? rest : alone);
      if (!second.ok) return second;
      const [apartResults, restResults] = when === "before" ? [first, second] : [second, first];
      let [a, r] = [0, 0];
      return {
        ok: true,
        results: change.ops.map((op) => (apart(op) ? apartResults.results[a++] : restResults.results[r++])),
      };
    };
    return { ...ports, store: { ...store, commit } };
  };
}

/** The record of a run is found by its child, and it never seems to have ended. */
function reportingAlways(store: Store): Store {
  return {
    ...store,
    async subagentRun(runId) {
      const record = await store.subagentRun(runId);
      if (record) {
        const { endedAt: _, outcome: __, ...open } = record;
        return open;
      }
      const run = await store.run(runId as never);
      if (!run) return undefined;
      const of = (await store.subagentRuns()).find(({ childAgentId }) => childAgentId === run.agentId);
      if (!of) return undefined;
      const { endedAt: _, outcome: __, ...open } = of;
      return open;
    },
    commit(change) {
      const ops = change.ops.map((op): Op => (op.op === "subagent.put" ? { ...op, expect: undefined } : op));
      return store.commit({ ...change, ops });
    },
  };
}

function dropping(concerns: (change: Change) => boolean): (ports: Ports) => Ports {
  return (ports) => {
    const { store } = ports;
    const commit = async (change: Change): Promise<CommitResult> => {
      if (!concerns(change) || !change.ops.some(isReport)) return store.commit(change);
      const kept = change.ops.filter((op) => !isReport(op));
      const result = await store.commit({ ...change, ops: kept });
      if (!result.ok) return result;
      let at = 0;
      return { ok: true, results: change.ops.map((op) => (isReport(op) ? undefined : result.results[at++])) };
    };
    return { ...ports, store: { ...store, commit } };
  };
}
