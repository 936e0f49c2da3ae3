/** What the registry of children commits for programs and people, and what it refuses, on a store that only records. */
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { recordingLog } from "../../../test/kit/log.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Change, CommitResult } from "../../core/store/change.ts";
import { Subagents } from "./subagents.ts";

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const refused = (why: string): CommitResult => ({ ok: false, refused: why, detail: `refused: ${why}` }) as never;

function setup(record: object | undefined, answer: (change: Change) => CommitResult | Promise<CommitResult>) {
  const clock = virtualClock();
  const commits: Change[] = [];
  const store = {
    subagentRun: async () => record,
    subagentRuns: async () => [],
    run: async () => undefined,
    agent: async () => ({ id: "child", sessionKey: "k", waiting: 0 }),
    commit: async (change: Change) => {
      commits.push(change);
      return answer(change);
    },
    outcome: async () => undefined,
  };
  const waits: string[] = [];
  const host = {
    actors: {
      runOf: (): RunId => "waiter" as RunId,
      outsideLane: (_: AgentId, waiting: Promise<unknown>) => {
        waits.push("outside the lane");
        return waiting;
      },
    },
    events: {
      listenToEnds: () => {
        waits.push("listens");
        return () => waits.push("listens no more");
      },
    },
    ...{ emit: () => {}, claimFor: () => 3, shared: false, people: {} },
  };
  const ports = { clock, store, ids: seededIds("subagents"), log: recordingLog([]) };
  const subagents = new Subagents(ports as never, host as never);
  return { subagents, commits, waits, clock, sites: () => commits.map(({ site }) => site) };
}
const OK: CommitResult = { ok: true, results: [] } as never;
const working = { runId: "r1", childAgentId: "child" };
const ended = { ...working, outcome: { status: "ok" } };
const from = "parent" as AgentId;

describe("a wait of one agent for another", () => {
  it("is refused if it would close a cycle, before anything waits (M11)", async () => {
    const { subagents, waits } = setup(working, () => refused("cycle"));
    await expect(subagents.wait("r1", { from })).rejects.toMatchObject({ code: "wait_cycle" });
    expect(waits).toEqual([]);
  });

  it("is refused if the child is gone", async () => {
    const { subagents } = setup(working, () => refused("missing"));
    await expect(subagents.wait("r1", { from })).rejects.toMatchObject({ code: "not_found" });
  });

  it("is recorded before it begins and after it ends", async () => {
    let began: (result: CommitResult) => void = () => {};
    const { subagents, waits, commits, clock, sites } = setup(working, ({ site }) =>
      site === "wait.begin" ? new Promise<CommitResult>((done) => (began = done)) : OK,
    );
    const waiting = subagents.wait("r1", { from, timeoutMs: 5_000 });
    await turn();
    expect([sites(), waits]).toEqual([["wait.begin"], []]);
    expect(commits[0]?.ops).toMatchObject([{ op: "wait.begin", from, to: { agentId: "child" }, runId: "waiter" }]);
    began(OK);
    await turn();
    expect(waits).toEqual(["listens", "outside the lane"]);
    await clock.advance(5_000, turn);
    expect(await waiting).toEqual({ status: "timeout" });
    expect(waits.at(-1)).toBe("listens no more");
    expect(sites()).toEqual(["wait.begin", "wait.end"]);
    const [begin] = commits[0]?.ops ?? [];
    expect(commits[1]?.ops).toEqual([{ op: "wait.end", id: begin && "id" in begin ? begin.id : undefined }]);
  });

  it("whose caller gives its id is ended by that caller", async () => {
    const { subagents, clock, commits, sites } = setup(working, () => OK);
    const waiting = subagents.wait("r1", { from, timeoutMs: 5_000, edge: "e1" });
    await turn();
    await clock.advance(5_000, turn);
    await waiting;
    expect(sites()).toEqual(["wait.begin"]);
    expect(commits[0]?.ops).toMatchObject([{ id: "e1" }]);
  });

  it.each([
    [ended, { status: "ended", outcome: { status: "ok" } }],
    [undefined, { status: "unknown" }],
  ])("for a child whose record is %j needs no wait", async (record, result) => {
    const { subagents, sites } = setup(record, () => OK);
    expect(await subagents.wait("r1", { from })).toEqual(result);
    expect(sites()).toEqual([]);
  });
});

describe("a child that no tool asks for", () => {
  const request = { task: "look" } as never;
  const also = { op: "fact.put", key: "k", value: "v" } as never;
  const withSpawn = (result: object) => {
    const made = setup(working, () => OK);
    Object.assign(made.subagents, { spawn: async () => ({ result, ops: [{ op: "fact.put", key: "child" }] }) });
    return made;
  };

  it("is committed together with what belongs to it", async () => {
    const { subagents, commits } = withSpawn({ status: "accepted" });
    expect(await subagents.start(request, () => [also])).toEqual({ status: "accepted" });
    expect(commits).toMatchObject([{ site: "subagent.start", ops: [{ key: "child" }, { key: "k" }] }]);
  });

  it("that is refused changes nothing, and nothing is asked that belongs to it", async () => {
    const { subagents, commits } = withSpawn({ status: "forbidden", error: "too many" });
    const none = (): never => {
      throw new TypeError("it was refused");
    };
    expect(await subagents.start(request, none)).toEqual({ status: "forbidden", error: "too many" });
    expect(commits).toEqual([]);
  });

  it("says so if the store refuses it", async () => {
    const { subagents } = setup(working, () => refused("missing"));
    await expect(subagents.send("r1", "hi")).rejects.toThrow("refused: missing");
  });
});
