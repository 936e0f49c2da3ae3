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
  ["the end of a run, as it is committed", [settle, end, release, append, state], true],
  ["an agent given back before its messages are settled", [release, settle], false],
  ["an agent given back before its run has ended", [settle, release, end], false],
  ["the end of a run that went wrong", [settle, { ...end, outcome: "error" } as Op], false],
  ["an agent given back twice", [release, release], false],
  ["what concerns many agents", [{ op: "agents.claim", node: 1, limit: 1 } as Op], false],
])("%s", (_, ops, plain) => {
  expect(isBatchable(change(ops))).toBe(plain);
});

/** A plan is made once per connection, mostly while tables are young, and kept. */
it("looks rows up by what was told: no state of a row is a constant that could be read all of", () => {
  const text = readFileSync(new URL("./functions/8-apply-batch.sql", import.meta.url), "utf8");
  const joined = text.split("\n").filter((line) => /^ {4}WHERE [a-z]\.(agent|id) = w\./.test(line));
  expect(joined.length).toBeGreaterThan(4);
  for (const line of joined) expect(line).not.toMatch(/\.state = '/);
});
