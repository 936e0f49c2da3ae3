/** What `/subagents` answers and commits, with children made up. Whether both are one commit is tested elsewhere. */
import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { InvalidInputError, NotFoundError, StoreUnavailableError } from "../../core/errors.ts";
import { answerSubagentsCommand } from "./chat-command.ts";
import type { Subagents } from "./subagents.ts";

const record = (n: number, more: Partial<SubagentRunRecord> = {}): SubagentRunRecord =>
  ({
    ...{ runId: `run-${n}`, label: `child ${n}`, task: "dig", childSessionKey: `key ${n}`, childAgentId: `kid${n}` },
    ...{ createdAt: 1_000, cleanup: "keep", ...more },
  }) as SubagentRunRecord;

function world(records: readonly SubagentRunRecord[], more: Partial<Subagents> = {}) {
  const limits: number[] = [];
  const runs: string[] = [];
  const store = {
    run: async (id: string) => {
      runs.push(id);
      return id === "run-1" ? { id, startedAt: 31_000 } : undefined;
    },
    agent: async (id: string) => (id === "kid1" ? { id } : undefined),
    linesBack: async (_: string, { limit }: { limit: number }) => {
      limits.push(limit);
      return [];
    },
  };
  const subagents = {
    list: async () => records,
    info: async () => ({ child: undefined }),
    stopRunOps: async (runId: string, reason: string) => [{ op: "stop", runId, reason }],
    sendOps: async (runId: string, text: string) => [{ op: "send", runId, text }],
    ...more,
  } as unknown as Subagents;
  const ports = { store, clock: { now: () => 61_000 } } as never;
  const type = (typed: string) =>
    answerSubagentsCommand(ports, subagents, { sessionKey: "k" } as unknown as AgentRecord, typed);
  return { type, limits, runs };
}

describe("/subagents log", () => {
  it.each([
    ["log 1", 20],
    ["log 1 5", 5],
    ["log 1 2.9", 2],
    ["log 1 0.5", 20],
    ["log 1 0", 20],
    ["log 1 -3", 1],
    ["log 1 200", 200],
    ["log 1 201", 200],
    ["log 1 Infinity", 200],
    ["log 1 many", 20],
  ])("%s reads %i lines", async (typed, limit) => {
    const { type, limits } = world([record(1)]);
    expect(await type(typed)).toEqual({ text: "⚙️ child 1:\nNothing was said yet.", ops: [] });
    expect(limits).toEqual([limit]);
  });

  it.each([{ childAgentId: "gone" }, { childAgentId: undefined }])(
    "of a child that is gone (%j) says so",
    async (more) => {
      const { type, limits } = world([record(1, more)]);
      expect((await type("log 1")).text).toBe("⚙️ child 1:\nIts history was removed.");
      expect(limits).toEqual([]);
    },
  );
});

describe("/subagents stop", () => {
  const stopped = (n: number) => ({ op: "stop", runId: `run-${n}`, reason: "stopped by a person" });
  it.each([
    ["stop all", [record(1), record(2, { endedAt: 5 }), record(3)], "Stop requested for 2 sub-agents.", [1, 3]],
    ["stop ALL", [record(1)], "Stop requested for 1 sub-agent.", [1]],
    ["stop 2", [record(1), record(2)], "Stop requested for child 2.", [2]],
    ["stop 1", [record(1, { endedAt: 5 })], "That child has ended already.", []],
    ["stop all", [], "No children are at work.", []],
  ])("%s", async (typed, records, text, runs) => {
    expect(await world(records).type(typed)).toEqual({ text: `⚙️ ${text}`, ops: runs.map(stopped) });
  });
});

describe("/subagents send", () => {
  it("sends the text as it was typed, to the child that is named", async () => {
    const { type } = world([record(1), record(2)]);
    expect(await type(" SEND  run-2   two  words\nand more ")).toEqual({
      text: "⚙️ Sent to child 2.",
      ops: [{ op: "send", runId: "run-2", text: "two  words\nand more" }],
    });
    expect((await type("send 1  ")).text).toContain("Usage: /subagents send");
    expect((await type("send")).text).toContain("Usage: /subagents send");
  });

  it.each([
    [new NotFoundError("It is gone."), "⚙️ It is gone."],
    [new InvalidInputError("Too long."), "⚙️ Too long."],
    [new StoreUnavailableError("no store"), undefined],
  ])("that fails with %s is an answer if the person can do something about it", async (error, text) => {
    const { type } = world([record(1)], { sendOps: () => Promise.reject(error) });
    if (text === undefined) await expect(type("send 1 hi")).rejects.toBe(error);
    else expect(await type("send 1 hi")).toEqual({ text, ops: [] });
  });
});

it("/subagents info says what is not known", async () => {
  const { type } = world([record(1, { label: "", startedAt: 2_000, endedAt: 3_000, outcome: { status: "ok" } })]);
  expect((await type("info 1")).text.split("\n")).toEqual([
    "⚙️ Subagent",
    "Status: completed successfully",
    "Label: none",
    "Task: dig",
    "Run: run-1",
    "Session: key 1",
    "Created: 1970-01-01T00:00:01.000Z",
    "Started: 1970-01-01T00:00:02.000Z",
    "Ended: 1970-01-01T00:00:03.000Z",
    "Cleanup: keep",
    "Waiting: 0",
  ]);
  const busy = world([record(1)], { info: async () => ({ child: { waiting: 3 } }) as never });
  expect((await busy.type("info 1")).text).toContain("\nWaiting: 3");
});

it("/subagents alone lists the children, with the runs of those at work", async () => {
  const { type, runs } = world([record(1), record(2), record(3, { endedAt: 11_000 })]);
  expect((await type("")).text).toBe(
    ["2 at work, 1 ended.", "1. child 1: working (30s)", "2. child 2: waiting (1m0s)", "3. child 3: ended (10s)"].join(
      "\n",
    ),
  );
  expect(runs).toEqual(["run-1", "run-2"]);
});
