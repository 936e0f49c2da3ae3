/** What the registry of children commits for programs and people, and what it refuses, on a store that only records. */

import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { recordingLog } from "../../../test/kit/log.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Change, CommitResult } from "../../core/store/change.ts";
import { Subagents } from "./subagents.ts";

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const refused = (why: string): CommitResult => ({ ok: false, refused: why, detail: `refused: ${why}` }) as never;

interface More {
  /** The run of the agent that waits. */
  readonly waiter?: RunId | undefined;
  readonly child?: object | undefined;
}

function setup(
  record: object | undefined,
  answer: (change: Change) => CommitResult | Promise<CommitResult>,
  more: More = {},
) {
  let now = record;
  const { waiter, child } = { waiter: "waiter" as RunId, child: { id: "child", sessionKey: "k", waiting: 0 }, ...more };
  const clock = virtualClock();
  const commits: Change[] = [];
  const store = {
    subagentRun: async (runId: string) => (runId === "r1" ? now : undefined),
    subagentRuns: async () => [],
    run: async () => undefined,
    agent: async () => child,
    commit: async (change: Change) => {
      commits.push(change);
      return answer(change);
    },
    outcome: async () => undefined,
  };
  const waits: string[] = [];
  const emitted: unknown[] = [];
  let ends: (end: { runId: string }) => void = () => {};
  const host = {
    actors: {
      runOf: (): RunId | undefined => waiter,
      outsideLane: (_: AgentId, waiting: Promise<unknown>) => {
        waits.push("outside the lane");
        return waiting;
      },
    },
    events: {
      listenToEnds: (listener: (end: { runId: string }) => void) => {
        waits.push("listens");
        ends = listener;
        return () => waits.push("listens no more");
      },
    },
    ...{ emit: (event: unknown) => emitted.push(event), claimFor: () => 3, shared: false, people: {} },
    ...{ settings: testSettings(), parts: {} },
  };
  const ports = { clock, store, ids: seededIds("subagents"), log: recordingLog([]) };
  const subagents = new Subagents(ports as never, host as never);
  const become = (next: object | undefined): void => {
    now = next;
  };
  return {
    subagents,
    commits,
    waits,
    clock,
    emitted,
    become,
    end: () => ends({ runId: "r1" }),
    sites: () => commits.map(({ site }) => site),
  };
}
const OK: CommitResult = { ok: true, results: [] } as never;
const working = { runId: "r1", childAgentId: "child" };
const ended = { ...working, outcome: { status: "ok" } };
const from = "parent" as AgentId;

describe("a wait of one agent for another", () => {
  it("is refused if it would close a cycle, before anything waits", async () => {
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

describe("a wait for a child", () => {
  it("of a person takes no place in a lane, and is not recorded", async () => {
    const { subagents, waits, clock, sites } = setup(working, () => OK);
    const waiting = subagents.wait("r1", { timeoutMs: 1_000 });
    await clock.advance(1_000, turn);
    expect(await waiting).toEqual({ status: "timeout" });
    expect([waits, sites()]).toEqual([["listens", "listens no more"], []]);
  });

  it("of an agent without a run is not recorded either", async () => {
    const { subagents, waits, clock, sites } = setup(working, () => OK, { waiter: undefined });
    const waiting = subagents.wait("r1", { from, timeoutMs: 1_000 });
    await clock.advance(1_000, turn);
    await waiting;
    expect([waits[1], sites()]).toEqual(["outside the lane", []]);
  });

  it("lasts a minute if nothing else was said", async () => {
    const { subagents, clock, waits } = setup(working, () => OK);
    const waiting = subagents.wait("r1");
    await clock.advance(59_999, turn);
    expect(waits).toEqual(["listens"]);
    await clock.advance(1, turn);
    expect(await waiting).toEqual({ status: "timeout" });
  });

  it("ends with its signal", async () => {
    const { subagents, waits } = setup(working, () => OK);
    const ended = new AbortController();
    const waiting = subagents.wait("r1", { signal: ended.signal });
    await turn();
    ended.abort();
    expect(await waiting).toEqual({ status: "timeout" });
    expect(waits.at(-1)).toBe("listens no more");
  });

  it.each([
    ["has ended", ended, { status: "ended", outcome: { status: "ok" } }],
    ["was removed", undefined, { status: "unknown" }],
  ])("ends at once when a run ends here and its record %s, else at the next look", async (_, record, result) => {
    for (const how of ["event", "look"] as const) {
      const { subagents, become, end, clock } = setup(working, () => OK);
      const waiting = subagents.wait("r1", { timeoutMs: 3_600_000 });
      await turn();
      become(record);
      if (how === "event") end();
      else await clock.advance(60_000, turn);
      expect(await waiting).toEqual(result);
    }
  });

  it("goes on if a run ends and the record has not", async () => {
    const { subagents, end, clock } = setup(working, () => OK);
    let over = false;
    const waiting = subagents.wait("r1", { timeoutMs: 10_000 }).then(() => {
      over = true;
    });
    await turn();
    end();
    await turn();
    expect(over).toBe(false);
    await clock.advance(10_000, turn);
    await waiting;
  });

  it("shares one listener with the others, which goes with the last of them", async () => {
    const { subagents, clock, waits } = setup(working, () => OK);
    const first = subagents.wait("r1", { timeoutMs: 1_000 });
    const second = subagents.wait("r1", { timeoutMs: 2_000 });
    await clock.advance(1_000, turn);
    await first;
    expect(waits).toEqual(["listens"]);
    await clock.advance(1_000, turn);
    await second;
    expect(waits).toEqual(["listens", "listens no more"]);
  });

  it("for a child whose agent is unknown is not recorded", async () => {
    const { subagents, clock, commits } = setup({ runId: "r1" }, () => OK);
    const waiting = subagents.wait("r1", { from, timeoutMs: 1_000 });
    await clock.advance(1_000, turn);
    await waiting;
    expect(commits.map(({ site }) => site)).toEqual(["wait.end"]);
  });
});

describe("a text for a child", () => {
  const posted = (commits: readonly Change[]) => commits.flatMap(({ ops }) => ops);

  it("goes into its active run, else it is its next message, from the one who sends it", async () => {
    const active = setup(working, () => OK, { child: { id: "child", runId: "r1" } });
    await active.subagents.send("r1", "hurry", from);
    expect(posted(active.commits)).toMatchObject([
      {
        ...{ op: "message.post", to: { agentId: "child" }, claimFor: 3 },
        message: { body: { kind: "user", text: "hurry", queue: { mode: "steer" } }, acceptedAt: active.clock.now() },
      },
    ]);
    const resting = setup(working, () => OK);
    await resting.subagents.send("r1", "more", from);
    expect(posted(resting.commits)).toMatchObject([
      { message: { body: { kind: "system", text: "more", origin: from } } },
    ]);
  });

  it("is refused if the child was stopped or removed, and for an unknown run", async () => {
    for (const child of [undefined, { id: "child", stopped: {} }]) {
      const { subagents, commits } = setup(working, () => OK, { child });
      await expect(subagents.send("r1", "hi")).rejects.toMatchObject({ code: "not_found" });
      expect(commits).toEqual([]);
    }
    await expect(setup(working, () => OK).subagents.send("r2", "hi")).rejects.toThrow("There is no child run r2.");
  });
});

it("a stop of a run whose agent is unknown is refused", async () => {
  await expect(setup({ runId: "r1" }, () => OK).subagents.stop("r1")).rejects.toThrow("is unknown");
});

it("a record that ends sets the timer of the archive if it has a time, and a stopped node has none", async () => {
  const { subagents, clock } = setup(working, () => OK);
  subagents.init();
  await turn();
  subagents.committed([
    { op: "subagent.put", record: {} },
    { op: "fact.put", key: "k", value: "v" },
  ] as never);
  expect(clock.timers).toBe(0);
  subagents.committed([{ op: "subagent.put", record: { archiveAtMs: clock.now() + 5_000 } }] as never);
  expect(clock.timers).toBe(1);
  subagents.close();
  subagents.committed([{ op: "subagent.put", record: { archiveAtMs: clock.now() } }] as never);
  expect(clock.timers).toBe(0);
});

it("a run whose agent is unknown has no child, and one whose agent is known has it", async () => {
  expect(await setup({ runId: "r1" }, () => OK).subagents.info("r1")).toEqual({ record: { runId: "r1" } });
  expect((await setup(working, () => OK).subagents.info("r1")).child).toMatchObject({ id: "child" });
});
