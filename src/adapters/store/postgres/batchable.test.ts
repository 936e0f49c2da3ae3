import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { AgentState } from "../../../core/agent/state.ts";
import type { AgentId, ChangeId, EntryId, RunId } from "../../../core/ids.ts";
import type { RunBody } from "../../../core/run/run.ts";
import type { Change, Op } from "../../../core/store/change.ts";
import { isBatchable } from "./batchable.ts";

const owner = { agentId: "a" as AgentId, node: 1, epoch: 1 };
const body = { lane: "main", seqs: [1], calls: [], iterations: 1, deliveries: 1 } as RunBody;
const release: Op = { op: "agent.release" };
const settle: Op = { op: "message.settle", settlements: [{ seq: 1, from: "taken", state: "answered" }] };
const end: Op = { op: "run.end", runId: "r" as RunId, body, outcome: "ok" };
const append: Op = { op: "entries.append", position: 2, lines: ["{}"], leaf: "e" as EntryId };
const state: Op = { op: "state.put", state: {} as AgentState };
const change = (ops: readonly Op[]): Change => ({ id: "c" as ChangeId, site: "rest", at: 0, owner, ops });

it.each([
  ["the usual end of a run", true, [settle, end, release, append, state]],
  ["a release before the messages are settled", false, [release, settle]],
  ["a release before the run has ended", false, [settle, release, end]],
  ["the end of a failed run", false, [settle, { ...end, outcome: "error" } as Op]],
  ["two releases", false, [release, release]],
  ["an op on many agents", false, [{ op: "agents.claim", node: 1, limit: 1 } as Op]],
])("%s: batchable is %s", (_, batchable, ops) => {
  expect(isBatchable(change(ops))).toBe(batchable);
});

/** PostgreSQL makes and caches a plan once per connection, often while the tables are still small. */
it("apply_batch finds rows by the given keys: it compares no state with a constant, because the planner would read all rows in that state", () => {
  const text = readFileSync(new URL("./functions/8-apply-batch.sql", import.meta.url), "utf8");
  const joined = text.split("\n").filter((line) => /^ {4}WHERE [a-z]\.(agent|id) = w\./.test(line));
  expect(joined.length).toBeGreaterThan(4);
  for (const line of joined) expect(line).not.toMatch(/\.state = '/);
});
