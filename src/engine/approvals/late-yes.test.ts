/** A yes that comes when the conversation has moved on executes its call, once (M31). */
import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import type { ChangeId } from "../../core/ids.ts";
import type { Grant } from "../../core/people/grant.ts";
import { OWNER } from "../../core/people/person.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import type { Surroundings } from "./call-digest.ts";

interface World {
  readonly surroundings?: () => Surroundings;
  readonly script?: TestEngineOptions["script"];
  readonly tools?: TestEngineOptions["tools"];
}

let changes = 0;
const put = (engine: TestEngine, grants: readonly Grant[]) =>
  engine.store.commit({
    id: `test-${++changes}` as ChangeId,
    site: "test",
    at: engine.clock.now(),
    ops: [
      {
        op: "person.put",
        person: { id: "ann", role: "guest", accounts: ["test:ann"], grants, createdAt: 1, createdBy: "owner" },
      },
    ],
  });

/** "go" and "again" lead to a call that must be asked about; every other request says what the model has read last. */
async function open({ surroundings, script, tools }: World = {}): Promise<TestEngine> {
  const engine = await TestEngine.open({
    script:
      script ??
      (({ request }) => {
        const last = request.messages.at(-1);
        const text = last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
        if (last?.role === "user" && /^(?:go|again)$/.test(text)) return { call: [{ name: "exec" }] };
        return `saw ${text.replaceAll(/<[^>]*>/g, "")}`;
      }),
    tools: { exec: { rights: ["exec"], replay: "never" }, ...tools },
    system: { rights: { surroundingsOf: async () => surroundings?.() ?? {} } },
    settings: { owner: { accounts: ["test:olga"] } },
  });
  await put(engine, [{ ask: "exec" }]);
  await engine.tell("go");
  return engine;
}

const rows = async (engine: TestEngine): Promise<Approval[]> =>
  [...(await engine.store.approvals({ limit: 50 }))].reverse();
const states = async (engine: TestEngine): Promise<string[]> => (await rows(engine)).map(({ state }) => state);
const executed = (engine: TestEngine): number => engine.executions.length;
const shown = (engine: TestEngine): string => engine.shown().at(-1) ?? "";
const decide = async (engine: TestEngine, approve = true, at = 0): Promise<void> => {
  const id = (await rows(engine))[at]?.id;
  if (id) await engine.system.approvals.decide(id, { approve }, { person: OWNER, surface: "test" });
};
const yes = async (engine: TestEngine): Promise<void> => {
  await decide(engine);
  await engine.settle();
};

async function expectQuiet(engine: TestEngine): Promise<void> {
  expect((await engine.states()).filter((state) => state === "waiting" || state === "taken")).toEqual([]);
  expect(await engine.store.busyAgents({ limit: 10 })).toEqual([]);
}

/** An engine whose question is open while the conversation has moved on. */
async function movedOn(world: World = {}): Promise<TestEngine> {
  const engine = await open(world);
  await engine.tell("hello");
  expect(await states(engine)).toEqual(["pending"]);
  return engine;
}

describe("a yes after the conversation has moved on", () => {
  it("executes the call once, in a run of its own, under a new id", async () => {
    const engine = await movedOn();
    const [asked] = await rows(engine);
    await yes(engine);
    expect(executed(engine)).toBe(1);
    const [row] = await rows(engine);
    const run = (await engine.runs()).at(-1);
    expect(row).toMatchObject({ state: "used", used: { runId: run?.id } });
    expect(row?.used?.callId).not.toBe(asked?.callId);
    expect(run).toMatchObject({ outcome: "ok" });
    expect(shown(engine)).toMatch(new RegExp(`^saw Approval ${row?.id} was given .*exec \\{\\}:\\nexec done$`));
    // Call and outcome are one text of the engine; the model never made this call.
    const transcript = await engine.transcript(await engine.agentId());
    expect(transcript.filter((line) => line.startsWith("tool: "))).toHaveLength(1);
    expect(transcript.filter((line) => line.includes("exec done") && line.startsWith("user: "))).toHaveLength(1);
    await expectQuiet(engine);
    await engine.tell("again");
    expect([executed(engine), await states(engine)]).toEqual([1, ["used", "pending"]]);
  });

  it("keeps the order of the inbox and joins no other message", async () => {
    const engine = await movedOn();
    const pause = engine.pauseAt("rest");
    await engine.send({ kind: "user", text: "one", queue: { mode: "steer" } });
    await pause.reached;
    await decide(engine);
    await engine.send({ kind: "user", text: "two", queue: { mode: "steer" } });
    pause.release();
    await engine.settle();
    const asked = engine.shown().filter((text) => text.startsWith("saw"));
    expect(asked.slice(-3).map((text) => text.slice(0, 12))).toEqual(
      ["saw one", "saw Approval ", "saw two"].map((text) => text.slice(0, 12)),
    );
    expect(executed(engine)).toBe(1);
  });

  it("marks what the outcome brings in", async () => {
    const engine = await movedOn({ tools: { exec: { rights: ["exec", "network"], replay: "never" } } });
    await yes(engine);
    const outcome = (await engine.entries()).find((entry) => JSON.stringify(entry).includes("exec done"));
    expect(outcome).toMatchObject({ role: "user", untrusted: { from: "tool:exec" } });
    expect((await engine.store.agent(await engine.agentId()))?.state.untrusted).toBe(true);
  });

  test.each<[string, World, (engine: TestEngine) => unknown, RegExp]>([
    ["what it was given for has changed", {}, () => undefined, /has changed since/],
    ["the right is gone", {}, (engine) => put(engine, []), /not allowed|denied|may not/i],
    ["the tool is gone", {}, (engine) => engine.restart(), /has changed since|Unknown tool|not allowed/],
  ])("executes nothing if %s, and tells agent and person", async (title, world, change, told) => {
    let version = "1";
    const engine = await movedOn({ ...world, surroundings: () => ({ files: { a: version } }) });
    if (title.startsWith("what")) version = "2";
    if (title.startsWith("the tool")) engine.options = { ...engine.options, tools: {} };
    await change(engine);
    await yes(engine);
    expect([executed(engine), await states(engine)]).toEqual([0, ["used"]]);
    expect(shown(engine)).toMatch(told);
    await expectQuiet(engine);
  });

  it("delivers the outcome itself if no model can be called", async () => {
    let broken = false;
    const engine = await movedOn({
      script: ({ request }) => {
        if (broken) return { error: { class: "auth", message: "the key was refused" } };
        const last = request.messages.at(-1);
        return last?.role === "user" && JSON.stringify(last.content).includes('"go"')
          ? { call: [{ name: "exec" }] }
          : "ok";
      },
    });
    broken = true;
    await yes(engine);
    expect(executed(engine)).toBe(1);
    expect(engine.shown().slice(-2)).toEqual([
      expect.stringContaining("exec done"),
      expect.stringContaining("the key was refused"),
    ]);
    await expectQuiet(engine);
  });

  it("executes nothing after a reset or a stop, and reports that to agent and person", async () => {
    for (const end of [{ kind: "reset", by: "person" } as const, { kind: "stop" } as const]) {
      const engine = await movedOn();
      const pause = engine.pauseAt("rest");
      await engine.send({ kind: "user", text: "one" });
      await pause.reached;
      await decide(engine);
      await engine.send(end);
      pause.release();
      await engine.settle();
      expect([executed(engine), await states(engine)]).toEqual([0, ["withdrawn"]]);
      expect(engine.shown().some((text) => text.startsWith("Not executed: approval"))).toBe(true);
      await expectQuiet(engine);
    }
  });

  it("counts once when it comes from two surfaces", async () => {
    const engine = await movedOn();
    const both = await Promise.allSettled([decide(engine), decide(engine)]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await engine.settle();
    expect(executed(engine)).toBe(1);
  });
});

describe("a call that equals an open question", () => {
  it("waits for that question instead of asking again, and runs where it waits", async () => {
    const engine = await movedOn();
    await engine.tell("again");
    expect(await states(engine)).toEqual(["pending"]);
    expect(await engine.store.agent(await engine.agentId())).toMatchObject({ suspended: true });
    await yes(engine);
    const run = (await engine.runs()).at(-1);
    expect([executed(engine), await rows(engine)]).toMatchObject([1, [{ state: "used", used: { runId: run?.id } }]]);
    expect(shown(engine)).toBe("saw exec done");
    await expectQuiet(engine);
  });

  it("leaves the question open when the conversation moves on again", async () => {
    const engine = await movedOn();
    await engine.tell("again");
    await engine.tell("never mind");
    expect(await states(engine)).toEqual(["pending"]);
    await yes(engine);
    expect([executed(engine), await states(engine)]).toEqual([1, ["used"]]);
  });

  it("is not made again while the run of the yes waits for its turn", async () => {
    const engine = await movedOn();
    const pause = engine.pauseAt("think");
    await engine.send({ kind: "user", text: "again" });
    await pause.reached;
    await decide(engine);
    pause.release();
    await engine.settle();
    expect([executed(engine), await states(engine)]).toEqual([1, ["used"]]);
    await expectQuiet(engine);
  });
});

describe("a no after the conversation has moved on", () => {
  it("reaches the person of the call and the agent", async () => {
    const engine = await movedOn();
    const id = (await rows(engine))[0]?.id;
    await decide(engine, false);
    await engine.settle();
    expect(shown(engine)).toBe(`Approval ${id} for exec was denied by owner.`);
    expect((await engine.transcript(await engine.agentId())).at(-1)).toContain("was denied by owner");
    expect(executed(engine)).toBe(0);
  });
});

describe("a process that dies", () => {
  const SITES: readonly CommitSite[] = ["approval.decide", "take", "intend", "result", "rest"];
  test.each(SITES)("before or after the commit %s executes a late yes once", async (site) => {
    for (const side of ["before", "after"] as const) {
      const engine = await movedOn();
      engine.onCommit = (change) => (change.site === site ? `die-${side}` : "go");
      void decide(engine).catch(() => undefined);
      await engine.settle();
      expect(engine.alive).toBe(false);
      await engine.restart();
      if ((await states(engine))[0] === "pending") await yes(engine);
      const lines = (await engine.transcript(await engine.agentId())).join("\n");
      const unknown = lines.includes("Outcome unknown");
      // The call must not be repeated: dead between start and result, its outcome is unknown.
      expect(unknown, `${site} ${side}`).toBe(
        (site === "intend" && side === "after") || (site === "result" && side === "before"),
      );
      if (!unknown) expect(executed(engine), `${site} ${side}`).toBe(1);
      expect(executed(engine), `${site} ${side}`).toBeLessThanOrEqual(1);
      expect(await states(engine)).toEqual(["used"]);
      await expectQuiet(engine);
    }
  });
});
