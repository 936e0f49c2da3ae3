/** Which statement each read asks with which values, where a page begins without a cursor, and what it says without rows. */
import { expect, test } from "vitest";
import type { StoreReader } from "../../../core/store/store.ts";
import type { Statement } from "./batched-reads.ts";
import { eraserOf } from "./erase.ts";
import { readerOf } from "./reader.ts";

/** A database without rows, and what it was asked. */
function world() {
  const asked: unknown[][] = [];
  const connections = {
    all: async ({ name }: Statement, ...values: unknown[]) => {
      asked.push([name, ...values]);
      return [];
    },
    one: async ({ name }: Statement, ...values: unknown[]) => {
      asked.push([name, ...values]);
      return undefined;
    },
  };
  return { asked, reader: readerOf(connections as never), eraser: eraserOf(connections as never) };
}

const MAX = Number.MAX_SAFE_INTEGER;
type Asks = (reader: StoreReader) => Promise<unknown>;
const as = <T>(text: string): T => text as T;

test.each<[Asks, readonly unknown[]]>([
  [(r) => r.agents({ limit: 5 }), ["select-agents", null, 5]],
  [(r) => r.agents({ limit: 5, after: as("a"), newest: true }), ["select-agents-newest", "a", 5]],
  [(r) => r.agentsOfKind("user", { limit: 5 }), ["select-agents-of-kind", "user", null, 5]],
  [(r) => r.agentsOfKind("user", { limit: 5, after: as("a") }), ["select-agents-of-kind", "user", "a", 5]],
  [(r) => r.busyAgents({ limit: 5 }), ["select-busy-agents", null, 5]],
  [(r) => r.busyAgents({ limit: 5, after: as("a") }), ["select-busy-agents", "a", 5]],
  [(r) => r.children(as("p"), { limit: 5 }), ["select-children", "p", null, 5]],
  [(r) => r.children(as("p"), { limit: 5, after: as("a") }), ["select-children", "p", "a", 5]],
  [(r) => r.roots({ limit: 5 }), ["select-roots", null, 5]],
  [(r) => r.roots({ limit: 5, after: as("a") }), ["select-roots", "a", 5]],
  [(r) => r.recentForeground({ limit: 5 }), ["select-most-recent-foreground", 5]],
  [(r) => r.recentForeground({ limit: 5, before: { at: 7, agentId: as("a") } }), ["select-recent-before", "7", "a", 5]],
  [(r) => r.messages(as("a"), { limit: 5 }), ["select-messages", "a", MAX, null, 5]],
  [
    (r) => r.messages(as("a"), { limit: 5, beforeSeq: 9, states: ["failed"] }),
    ["select-messages", "a", 9, ["failed"], 5],
  ],
  [(r) => r.waiting(as("a"), { limit: 5 }), ["select-waiting", "a", 0, 5]],
  [(r) => r.waiting(as("a"), { limit: 5, afterSeq: 9, urgent: true }), ["select-waiting-urgent", "a", 9, 5]],
  [(r) => r.unanswered({ limit: 5, states: ["failed"] }), ["select-unanswered", ["failed"], MAX, "", 0, 5]],
  [
    (r) => r.unanswered({ limit: 5, states: ["failed"], before: { at: 7, agentId: as("a"), seq: 3 } }),
    ["select-unanswered", ["failed"], 7, "a", 3, 5],
  ],
  [(r) => r.linesBack(as("a"), { limit: 5 }), ["select-lines-back", "a", MAX, 5]],
  [(r) => r.linesBack(as("a"), { limit: 5, before: 9 }), ["select-lines-back", "a", 9, 5]],
  [(r) => r.runs(as("a"), { limit: 5 }), ["select-runs", "a", 5, null]],
  [(r) => r.runs(as("a"), { limit: 5, before: as("r") }), ["select-runs", "a", 5, "r"]],
  [(r) => r.heldBackRuns({ limit: 5 }), ["select-held-back-runs", null]],
  [(r) => r.heldBackRuns({ limit: 5, node: 2 }), ["select-held-back-runs", 2]],
  [(r) => r.usageSince(3), ["select-usage-since", 3, MAX]],
  [(r) => r.usageSince(3, 9), ["select-usage-since", 3, 9]],
  [
    (r) => r.deliveries({ limit: 5, agentId: as("a") }),
    ["select-deliveries-of", "a", 0, ["pending", "sending", "waiting-reader", "unroutable"], 5],
  ],
  [
    (r) => r.deliveries({ limit: 5, agentId: as("a"), afterN: 9, states: ["failed"] }),
    ["select-deliveries-of", "a", 9, ["failed"], 5],
  ],
  [(r) => r.deliveries({ limit: 5, states: ["pending", "sending"] }), ["select-open-deliveries", 0, 5]],
  [
    (r) => r.deliveries({ limit: 5, afterN: 9, states: ["unroutable"] }),
    ["select-waiting-deliveries", 9, ["unroutable"], 5],
  ],
  [
    (r) => r.deliveries({ limit: 5, states: ["failed", "unconfirmed"] }),
    ["select-dead-deliveries", 0, ["failed", "unconfirmed"], 5],
  ],
  [(r) => r.deliveries({ limit: 5, states: ["failed", "sent"] }), ["select-deliveries-in", 0, ["failed", "sent"], 5]],
  [
    (r) => r.deliveries({ limit: 5, states: ["unroutable", "sent"] }),
    ["select-deliveries-in", 0, ["unroutable", "sent"], 5],
  ],
  [(r) => r.mailbox("t", { limit: 5 }), ["select-mailbox", "t", 0, 5]],
  [(r) => r.mailbox("t", { limit: 5, afterN: 9 }), ["select-mailbox", "t", 9, 5]],
  [(r) => r.jobs(), ["select-jobs"]],
  [(r) => r.jobs({ limit: 5 }), ["select-jobs-page", "", 5]],
  [(r) => r.jobs({ limit: 5, after: "j" }), ["select-jobs-page", "j", 5]],
  [(r) => r.nextJobs({ limit: 5 }), ["select-next-jobs", MAX, 5]],
  [(r) => r.nextJobs({ limit: 5, before: 9 }), ["select-next-jobs", 9, 5]],
  [(r) => r.jobSlots("j", { limit: 5 }), ["select-job-slots", "j", MAX, 5]],
  [(r) => r.jobSlots("j", { limit: 5, beforeN: 9 }), ["select-job-slots", "j", 9, 5]],
  [(r) => r.budgets({ limit: 5 }), ["select-budgets", "", 5]],
  [(r) => r.budgets({ limit: 5, after: "b" }), ["select-budgets", "b", 5]],
  [(r) => r.waits({ limit: 5 }), ["select-waits", "", 5]],
  [(r) => r.waits({ limit: 5, from: as("a") }), ["select-waits-of", "a", "", 5]],
  [(r) => r.waits({ limit: 5, from: as("a"), after: "w" }), ["select-waits-of", "a", "w", 5]],
  [(r) => r.swarms({ limit: 5 }), ["select-swarms", "", 5]],
  [(r) => r.swarms({ limit: 5, after: "s" }), ["select-swarms", "s", 5]],
  [(r) => r.people({ limit: 5 }), ["select-people", "", 5]],
  [(r) => r.people({ limit: 5, after: "p" }), ["select-people", "p", 5]],
  [(r) => r.files({ limit: 5 }), ["select-stored-files", null, "", 5]],
  [(r) => r.files({ limit: 5, person: "p", after: "f" }), ["select-stored-files", "p", "f", 5]],
  [(r) => r.audit({ limit: 5 }), ["select-audit", null, null, null, null, null, null, 5]],
  [
    (r) => r.audit({ limit: 5, beforeN: 9, since: 0, person: "p", agentId: as("a"), action: "x", decision: "deny" }),
    ["select-audit", 9, 0, "p", "a", "x", "deny", 5],
  ],
  [(r) => r.approvals({ limit: 5 }), ["select-approvals", null, null, null, null, 5]],
  [
    (r) => r.approvals({ limit: 5, beforeN: 9, states: ["used"], agentId: as("a"), person: as("p") }),
    ["select-approvals", 9, ["used"], "a", "p", 5],
  ],
  [(r) => r.approvalsDue({ limit: 5 }), ["select-approvals-due", MAX, 5]],
  [(r) => r.approvalsDue({ limit: 5, by: 9 }), ["select-approvals-due", 9, 5]],
  [(r) => r.subagentRuns(), ["select-subagent-runs"]],
  [(r) => r.subagentRuns({ requesterSessionKey: as("k") }), ["select-subagent-runs-of", "k"]],
  [(r) => r.subagentRuns({ open: true }), ["select-open-subagent-runs"]],
  [(r) => r.subagentRuns({ dueBy: 9, limit: 5 }), ["select-due-subagent-runs", 9, 5]],
])("a list of nothing: %s", async (read, wanted) => {
  const { asked, reader } = world();
  expect(await read(reader)).toEqual([]);
  expect(asked).toEqual([wanted]);
});

test.each<[Asks, unknown]>([
  [(r) => r.agent(as("a")), undefined],
  [(r) => r.agentByKey(as("k")), undefined],
  [(r) => r.agentFor("heartbeat"), undefined],
  [(r) => r.message(as("a"), 1), undefined],
  [(r) => r.run(as("r")), undefined],
  [(r) => r.delivery(as("d")), undefined],
  [(r) => r.deliveryHead("t"), undefined],
  [(r) => r.job("j"), undefined],
  [(r) => r.jobSlot("j", "s"), undefined],
  [(r) => r.subagentRun("s"), undefined],
  [(r) => r.openSubagentRuns(as("k")), 0],
  [(r) => r.budget("b"), undefined],
  [(r) => r.swarm("s"), undefined],
  [(r) => r.swarmContact("s", as("a")), undefined],
  [(r) => r.person("p"), undefined],
  [(r) => r.personByAccount("p"), undefined],
  [(r) => r.rightsRevision(), 0],
  [(r) => r.approval(as("p")), undefined],
  [(r) => r.openApprovals(as("a")), []],
  [(r) => r.file("f"), undefined],
  [(r) => r.fileBySha("f"), undefined],
  [(r) => r.holdsFile(as("a"), "f"), false],
  [(r) => r.fileBytes("p"), 0],
  [(r) => r.fact("f"), undefined],
  [(r) => r.request("q"), undefined],
  [(r) => r.workCounts(1), { busy: 0, undelivered: 0, failed: 0 }],
])("nothing there: %s", async (read, wanted) => {
  expect(await read(world().reader)).toEqual(wanted);
});

test("deliveries of no named state are those that are sent and those that wait, in one order", async () => {
  const { asked, reader } = world();
  expect(await reader.deliveries({ limit: 5 })).toEqual([]);
  expect(asked.toSorted()).toEqual([
    ["select-open-deliveries", 0, 5],
    ["select-waiting-deliveries", 0, expect.arrayContaining(["waiting-reader", "unroutable"]), 5],
  ]);
});

test.each(["heartbeat", "foreground"] as const)("the agent for %s is the first of its list", async (strategy) => {
  const { asked, reader } = world();
  await reader.agentFor(strategy as never);
  expect(asked).toEqual([[`select-most-recent-${strategy}`, 1]]);
});

test("reads for erasing begin at the first row without a cursor, and count nothing as 0", async () => {
  const { asked, eraser } = world();
  await eraser.agents({ limit: 5 });
  await eraser.agents({ limit: 5, after: as("a") });
  await eraser.facts({ limit: 5 });
  await eraser.facts({ limit: 5, after: "f\0" });
  await eraser.mentions([as("a")], ["an.n", "b\0"]);
  expect(await eraser.prunable("runs", 8.9)).toBe(0);
  expect(asked).toEqual([
    ["select-agents-ever", null, 5],
    ["select-agents-ever", "a", 5],
    ["select-facts", "", 5],
    ["select-facts", "f\uFFFD", 5],
    ["select-mentions", ["a"], "(^|[^[:alnum:]_])(an\\.n|b\\\uFFFD)($|[^[:alnum:]_])"],
    ["count-prunable-runs", 8],
  ]);
});
