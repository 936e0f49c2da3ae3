/** Runs that wait for a person, and what wakes them (M31). */
import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { dieAt } from "../../../test/kit/store.ts";
import type { ChangeId } from "../../core/ids.ts";
import type { Grant } from "../../core/people/grant.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import type { Op } from "../../core/store/change.ts";
import type { Surroundings } from "./call-digest.ts";

const HOUR = 3600_000;
const ANN = "ann" as PersonId;
let changes = 0;
const commit = (engine: TestEngine, ...ops: Op[]) =>
  engine.store.commit({ id: `test-${++changes}` as ChangeId, site: "test", at: engine.clock.now(), ops });
const put = (engine: TestEngine, grants: readonly Grant[], id = "ann") =>
  commit(engine, {
    op: "person.put",
    person: { id, role: "guest", accounts: [`test:${id}`], grants, createdAt: 1, createdBy: "owner" },
  });

interface World {
  readonly calls?: readonly string[];
  readonly grants?: readonly Grant[];
  readonly surroundings?: () => Surroundings;
  readonly system?: TestEngineOptions["system"];
  readonly tools?: TestEngineOptions["tools"];
}

/** The first message leads to calls that must be asked about; every later request says what the model has read last. */
async function open({ calls = ["exec"], grants = [{ ask: "exec" }], surroundings, system, tools }: World = {}) {
  let called = false;
  const engine = await TestEngine.open({
    script: ({ request }) => {
      const last = request.messages.at(-1);
      const text = last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
      if (!called || text.includes("repeat")) {
        called = true;
        return { call: calls.map((name) => ({ name })) };
      }
      return `saw ${text.replaceAll(/<[^>]*>/g, "")}`;
    },
    tools: { exec: { rights: ["exec"], replay: "never" }, look: { rights: ["read"] }, ...tools },
    system: { rights: { surroundingsOf: async () => surroundings?.() ?? {} }, ...system },
    settings: { owner: { accounts: ["test:olga"] } },
  });
  await put(engine, grants);
  await engine.tell("go");
  return engine;
}

const executed = (engine: TestEngine): string[] => engine.executions.map(({ name }) => name);
const rows = async (engine: TestEngine): Promise<Approval[]> =>
  [...(await engine.store.approvals({ limit: 50 }))].reverse();
const states = async (engine: TestEngine): Promise<string[]> => (await rows(engine)).map(({ state }) => state);
const first = async (engine: TestEngine): Promise<ApprovalId> => (await rows(engine))[0]?.id as ApprovalId;
const results = async (engine: TestEngine): Promise<string[]> =>
  (await engine.transcript(await engine.agentId())).filter((line) => line.startsWith("tool: "));
const agent = async (engine: TestEngine) => {
  const record = await engine.store.agent(await engine.agentId());
  if (!record) throw new TypeError("no agent");
  return record;
};
const answer = async (engine: TestEngine, approve: boolean, more: object = {}, person = OWNER): Promise<void> => {
  const id = await first(engine);
  await engine.system.approvals.decide(id, { approve, ...more }, { person, surface: "test" });
  await engine.settle();
};
const said = (engine: TestEngine): string | undefined => engine.shown().findLast((text) => text.startsWith("saw"));

/** Whatever happened: nothing is waiting, taken or open. */
async function expectQuiet(engine: TestEngine): Promise<void> {
  expect((await engine.states()).filter((state) => state === "waiting" || state === "taken")).toEqual([]);
  expect(await agent(engine)).not.toHaveProperty("runId", expect.any(String));
  expect(await engine.store.busyAgents({ limit: 10 })).toEqual([]);
}

describe("a call that must be asked about", () => {
  it("suspends its run, which holds nothing: no node, no lane, no timer; the owner gets the question", async () => {
    const engine = await open({ calls: ["exec", "look"] });
    // What needs no question runs first.
    expect(executed(engine)).toEqual(["look"]);
    const record = await agent(engine);
    expect(record).toMatchObject({ suspended: true, runId: expect.any(String) });
    expect(record.node).toBeUndefined();
    expect(engine.system.lanes.counts().main.active).toBe(0);
    expect(await engine.store.busyAgents({ limit: 10 })).toEqual([]);
    const [row] = await rows(engine);
    expect(row).toMatchObject({
      tool: "exec",
      behalf: { person: ANN },
      state: "pending",
      dueAt: engine.clock.now() + 24 * HOUR,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const question = (await engine.deliveries()).find(({ payload }) => payload.text?.includes(row?.id ?? "-"));
    expect(question?.payload.text).toContain(`rookery approvals yes ${row?.id}`);
    // No route to the owner is known here: the question is listed, not lost.
    expect(question?.state).toBe("unroutable");
    expect((await engine.store.audit({ limit: 1 }))[0]).toMatchObject({ action: "exec", decision: "ask" });
    // A day passes for the process: the run has no time limit while it waits.
    await engine.advance(HOUR);
    expect(await states(engine)).toEqual(["pending"]);
  });

  it("tells its own person that the owner was asked, in the same commit, and only if someone else decides", async () => {
    const engine = await open({ calls: ["exec", "exec"] });
    const asked = await rows(engine);
    const notices = (await engine.deliveries()).filter(({ payload }) =>
      payload.text?.startsWith("The owner was asked"),
    );
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatchObject({ target: { channel: "test", to: "ann" }, payload: { person: ANN } });
    for (const { id } of asked) expect(notices[0]?.payload.text).toContain(id);
    // Text from the network makes the owner's own command a question.
    const own = await open({
      calls: ["exec", "look"],
      tools: { look: { rights: ["network"], execute: () => "repeat" } },
    });
    const before = own.shown().length;
    await own.tell("repeat", { name: "olga" });
    expect((await rows(own)).map(({ behalf }) => behalf.person)).toEqual([ANN, OWNER]);
    expect(own.shown().slice(before)).toEqual([expect.stringContaining("Approval ")]);
  });

  it("runs after a yes, once, and the run ends as usual", async () => {
    const engine = await open();
    await answer(engine, true);
    expect(executed(engine)).toEqual(["exec"]);
    expect(await states(engine)).toEqual(["used"]);
    expect(said(engine)).toBe("saw exec done");
    expect((await engine.runs()).map(({ outcome }) => outcome)).toEqual(["ok"]);
    const audit = (await engine.store.audit({ limit: 10 })).map(({ action, decision }) => `${action} ${decision}`);
    expect(audit).toEqual(["exec allow", "approval.decide allow", "exec ask"]);
    await expectQuiet(engine);
  });

  it("gets the no as its result", async () => {
    const engine = await open();
    await answer(engine, false, { reason: "not today" });
    expect(executed(engine)).toEqual([]);
    expect(said(engine)).toMatch(/^saw Not executed: owner denied approval \w{4}: not today\.$/);
    await expectQuiet(engine);
  });

  it("is not executed if no one answers in time", async () => {
    const engine = await open();
    await engine.advance(24 * HOUR - 1);
    expect(await states(engine)).toEqual(["pending"]);
    await engine.advance(1);
    expect(await states(engine)).toEqual(["expired"]);
    expect(said(engine)).toContain("no one answered");
    await expectQuiet(engine);
    await expect(answer(engine, true)).rejects.toThrow("already expired");
  });

  it("of several in one answer goes on alone when it is approved; the run waits again for the others", async () => {
    const engine = await open({
      calls: ["exec", "other"],
      grants: [{ ask: "*" }],
      tools: { other: { rights: ["write"] } },
    });
    expect(await states(engine)).toEqual(["pending", "pending"]);
    await answer(engine, true);
    expect(executed(engine)).toEqual(["exec"]);
    expect(await states(engine)).toEqual(["used", "pending"]);
    expect(await agent(engine)).toMatchObject({ suspended: true });
    const second = (await rows(engine))[1]?.id as ApprovalId;
    await engine.system.approvals.decide(second, { approve: false }, { person: OWNER, surface: "test" });
    await engine.settle();
    expect(executed(engine)).toEqual(["exec"]);
    expect(await results(engine)).toHaveLength(2);
    await expectQuiet(engine);
  });

  it("is denied, not asked about, if no person waits for the run", async () => {
    const engine = await open();
    const id = await engine.agentId();
    await answer(engine, false);
    const trigger = { type: "webhook", id: "h", name: "h" } as const;
    await engine.system.post({ to: { agentId: id }, body: { kind: "trigger", text: "repeat", trigger } });
    await engine.settle();
    expect(await states(engine)).toEqual(["denied"]);
    expect((await results(engine)).at(-1)).toContain("no one is there to ask");
  });
});

describe("an answer", () => {
  it("of two at the same moment is one", async () => {
    const engine = await open();
    const id = await first(engine);
    const by = { person: OWNER, surface: "test" };
    const both = await Promise.allSettled([
      engine.system.approvals.decide(id, { approve: true }, by),
      engine.system.approvals.decide(id, { approve: false }, by),
    ]);
    await engine.settle();
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const yes = both[0]?.status === "fulfilled";
    expect(executed(engine)).toEqual(yes ? ["exec"] : []);
    await expectQuiet(engine);
  });

  test.each<[string, PersonId, readonly Grant[], boolean, string | undefined]>([
    ["a guest says yes to their own", ANN, [{ ask: "exec" }], true, "Only the owner"],
    ["a guest says no to their own", ANN, [{ ask: "exec" }], false, undefined],
    ["a guest with the grant says yes to their own", ANN, [{ ask: "exec" }, { allow: "approve" }], true, undefined],
    ["another guest sees nothing", "bob" as PersonId, [{ ask: "exec" }], false, "There is no approval"],
    ["a stranger sees nothing", "test:eve" as PersonId, [{ ask: "exec" }], true, "There is no approval"],
  ])("%s", async (_, person, grants, approve, problem) => {
    const engine = await open({ grants });
    await put(engine, [], "bob");
    const answered = answer(engine, approve, {}, person);
    if (problem) await expect(answered).rejects.toThrow(problem);
    else await answered;
    expect(executed(engine)).toEqual(approve && !problem ? ["exec"] : []);
    expect((await engine.system.approvals.list({ limit: 10 }, person)).length).toBe(person === ANN ? 1 : 0);
  });

  it("can be given by those who see the question; for others there is none", async () => {
    const engine = await open();
    const id = await first(engine);
    const { approvals } = engine.system;
    for (const person of [OWNER, ANN]) expect(await approvals.get(id, person)).toMatchObject({ id, tool: "exec" });
    await expect(approvals.get(id, "bob" as PersonId)).rejects.toThrow(`There is no approval ${id}`);
    await expect(approvals.get("zzzz" as ApprovalId, OWNER)).rejects.toThrow("There is no approval zzzz");
    const decided = approvals.decide("zzzz" as ApprovalId, { approve: true }, { person: OWNER, surface: "test" });
    await expect(decided).rejects.toThrow("There is no approval zzzz");
  });

  it.each([
    [2, "used"],
    [3, "pending"],
  ])("is decided three times at most if rights change: after %d changes the question is %s", async (changes, state) => {
    const engine = await open();
    const commit = engine.store.commit;
    let tries = 0;
    engine.store.commit = async (change) => {
      if (change.site !== "approval.decide" || ++tries > changes) return commit(change);
      return { ok: false, refused: "conflict", detail: "rights have changed" };
    };
    const answered = answer(engine, true);
    if (state === "used") await answered;
    else await expect(answered).rejects.toThrow("rights have changed");
    expect([tries, await states(engine)]).toEqual([3, [state]]);
  });

  it("brings its own ops, which are committed with it", async () => {
    const engine = await open();
    const also = ({ id, state }: Approval): Op[] => [{ op: "fact.put", key: `${id}`, value: state }];
    const id = await first(engine);
    await engine.system.approvals.decide(id, { approve: false }, { person: OWNER, surface: "test" }, also);
    expect(await engine.store.fact(id)).toBe("denied");
    expect(engine.commits.filter(({ site }) => site === "approval.decide")).toHaveLength(1);
  });

  it("of a person who may approve for another counts for that person only", async () => {
    const engine = await open();
    await put(engine, [{ allow: "approve(ann)" }], "bob");
    await answer(engine, true, {}, "bob" as PersonId);
    expect(executed(engine)).toEqual(["exec"]);
  });

  it("never allows what the rights of now deny", async () => {
    const engine = await open();
    await put(engine, [{ deny: "exec" }]);
    await answer(engine, true);
    expect(executed(engine)).toEqual([]);
    expect(said(engine)).toContain("a grant of ann denies it");
    await expectQuiet(engine);
  });

  describe("for always", () => {
    const SCRIPT = {
      directory: "/work",
      environment: ["PATH"],
      files: { "x.sh": "one" },
      definition: { name: "exec" },
    };

    it.each<[string, readonly Grant[]]>([
      ["the tool", [{ ask: "exec" }]],
      ["everything", [{ ask: "*" }]],
    ])("to exactly this call is stored for its person, and answers a grant that asks about %s", async (_, grants) => {
      const engine = await open({ grants, surroundings: () => SCRIPT });
      await answer(engine, true, { always: "call" });
      expect(executed(engine)).toEqual(["exec"]);
      expect((await engine.store.person("ann"))?.grants).toEqual([
        ...grants,
        {
          allow: expect.stringMatching(/^call\(exec:[0-9a-f]{32}\)$/u),
          note: expect.stringMatching(/^approval \w{4} by owner$/),
          shows: "exec It works in /work",
        },
      ]);
      await engine.tell("repeat");
      expect(executed(engine)).toEqual(["exec", "exec"]);
      expect(await states(engine)).toEqual(["used"]);
    });

    it.each<[string, Surroundings]>([
      ["a script that it names", { ...SCRIPT, files: { "x.sh": "two" } }],
      ["its directory", { ...SCRIPT, directory: "/other" }],
      ["the names of its environment", { ...SCRIPT, environment: ["PATH", "LD_PRELOAD"] }],
      ["its tool", { ...SCRIPT, definition: { name: "exec", description: "other" } }],
    ])("asks again when %s has changed", async (_, changed) => {
      let around: Surroundings = SCRIPT;
      const engine = await open({ surroundings: () => around });
      await answer(engine, true, { always: "call" });
      around = changed;
      await engine.tell("repeat");
      expect(executed(engine)).toEqual(["exec"]);
      expect(await states(engine)).toEqual(["used", "pending"]);
    });

    it("never allows what the rights of now deny", async () => {
      const engine = await open();
      await answer(engine, true, { always: "call" });
      const [, yes] = (await engine.store.person("ann"))?.grants ?? [];
      await put(engine, [{ deny: "exec" }, ...(yes ? [yes] : [])]);
      await engine.tell("repeat");
      expect(executed(engine)).toEqual(["exec"]);
      expect(await states(engine)).toEqual(["used"]);
    });

    it("to a pattern is refused if there is none, and nothing is decided", async () => {
      const engine = await open();
      await expect(answer(engine, true, { always: "pattern" })).rejects.toThrow("there is no pattern for it");
      expect(await states(engine)).toEqual(["pending"]);
    });
  });

  it("about what has changed since is worth nothing: the model reads that, and asks again", async () => {
    let content = "a";
    const engine = await open({ surroundings: () => ({ files: { "x.sh": content } }) });
    content = "b";
    await answer(engine, true);
    expect(executed(engine)).toEqual([]);
    expect(said(engine)).toContain("has changed since. Call exec again");
    expect(await states(engine)).toEqual(["withdrawn"]);
    await engine.tell("repeat");
    expect(await states(engine)).toEqual(["withdrawn", "pending"]);
  });

  it("to another digest than the person was shown is refused", async () => {
    const engine = await open();
    await expect(answer(engine, true, { digest: "another" })).rejects.toThrow("another call than the one you saw");
    expect(await states(engine)).toEqual(["pending"]);
  });
});

describe("a suspended run", () => {
  it("does not block its conversation: a message ends the wait, and a later yes executes the call once", async () => {
    const engine = await open();
    await engine.tell("hello");
    expect(executed(engine)).toEqual([]);
    const id = await first(engine);
    expect(await results(engine)).toEqual([`tool: Not executed; approval ${id} is still open.`]);
    expect(said(engine)).toBe("saw hello");
    expect(await states(engine)).toEqual(["pending"]);
    await expectQuiet(engine);
    await answer(engine, true);
    expect(executed(engine)).toEqual(["exec"]);
    expect(await states(engine)).toEqual(["used"]);
    await engine.tell("repeat");
    expect(executed(engine)).toEqual(["exec"]);
    expect(await states(engine)).toEqual(["used", "pending"]);
  });

  it("and a yes that is not used within a day ends", async () => {
    const engine = await open();
    await engine.tell("hello");
    const pause = engine.pauseAt("rest");
    await engine.send({ kind: "user", text: "one" });
    await pause.reached;
    await answer(engine, true);
    await engine.advance(24 * HOUR);
    expect(await states(engine)).toEqual(["expired"]);
    pause.release();
    await engine.settle();
    expect(executed(engine)).toEqual([]);
    expect(engine.shown().at(-1)).toMatch(/^Not executed: approval \w+ was given too long ago\.$/);
  });

  test.each<[string, (engine: TestEngine) => Promise<unknown>]>([
    ["an abort", async (engine) => engine.system.runs.abort((await agent(engine)).runId as never)],
    ["a stop of the agent", async (engine) => engine.system.lifecycle.stop(await engine.agentId())],
    ["a person's stop", (engine) => engine.send({ kind: "stop" })],
    ["a person's reset", (engine) => engine.send({ kind: "reset", by: "person" })],
  ])("%s ends it and withdraws its questions in the same change", async (_, end) => {
    const engine = await open();
    await end(engine);
    expect(await states(engine)).toEqual(["withdrawn"]);
    await engine.settle();
    expect(executed(engine)).toEqual([]);
    expect((await engine.runs()).map(({ outcome }) => outcome)).toEqual(["aborted"]);
    await expectQuiet(engine);
    await expect(answer(engine, true)).rejects.toThrow("already withdrawn");
  });

  it("a daily reset ends the wait and leaves the question open", async () => {
    const engine = await open();
    await engine.send({ kind: "reset", by: "daily" });
    await engine.settle();
    expect(await states(engine)).toEqual(["pending"]);
    expect((await engine.runs()).map(({ outcome }) => outcome)).toEqual(["ok"]);
    expect((await engine.transcript(await engine.agentId())).at(-1)).toBe("--- reset");
    await expectQuiet(engine);
  });

  it("lets silent messages wait, and carries out commands at once", async () => {
    const engine = await open();
    await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.settle();
    await engine.send({ kind: "setting", queue: { mode: "queue" } });
    await engine.settle();
    expect(await agent(engine)).toMatchObject({ suspended: true, state: { queueMode: "queue" } });
    expect(await states(engine)).toEqual(["pending"]);
    await answer(engine, true);
    expect(executed(engine)).toEqual(["exec"]);
    await expectQuiet(engine);
  });

  it("ends by the time limit of its own message, also while it waits", async () => {
    const engine = await open();
    await answer(engine, false);
    await engine.send({ kind: "user", text: "repeat", wishes: { timeoutSeconds: 60 } });
    await engine.settle();
    expect((await rows(engine))[1]?.dueAt).toBe(engine.clock.now() + 60_000);
    await engine.advance(61_000);
    expect((await rows(engine))[1]?.state).toBe("expired");
    expect((await engine.runs()).map(({ outcome }) => outcome)).toEqual(["ok", "timeout"]);
    await expectQuiet(engine);
  });

  it("is no suspect, however often the process dies while it waits", async () => {
    const engine = await open();
    for (let times = 0; times < 4; times++) await engine.restart();
    expect(await agent(engine)).toMatchObject({ suspended: true });
    await answer(engine, true);
    expect(executed(engine)).toEqual(["exec"]);
    expect((await engine.runs())[0]).toMatchObject({ outcome: "ok" });
    await expectQuiet(engine);
  });
});

describe("a question of an agent that is gone", () => {
  it("ends with the agent, and is not ended again", async () => {
    const engine = await open();
    await engine.tell("hello");
    const { id: agentId } = await agent(engine);
    await commit(engine, { op: "agent.remove", agentId, reason: "test" });
    expect(await states(engine)).toEqual(["withdrawn"]);
    await engine.advance(25 * HOUR);
    expect(engine.commits.filter(({ site }) => site === "approval.expire")).toEqual([]);
  });
});

describe("a process that dies", () => {
  test.each(["think", "suspend", "approval.decide", "continue", "result", "rest"] as const)(
    "before or after the commit %s executes the call once after a yes, and never before",
    async (site) => {
      for (const side of ["before", "after"] as const) {
        const engine = await TestEngine.open({
          script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "exec" }] }),
          tools: { exec: { rights: ["exec"], replay: "never" } },
          system: { rights: {} },
          settings: { owner: { accounts: ["test:olga"] } },
        });
        await put(engine, [{ ask: "exec" }]);
        engine.onCommit = dieAt(site, side);
        await engine.tell("go").catch(() => undefined);
        if (!engine.alive) await engine.restart();
        expect(executed(engine)).toEqual([]);
        const id = await first(engine);
        const decide = () => engine.system.approvals.decide(id, { approve: true }, { person: OWNER, surface: "test" });
        void decide().catch(() => undefined);
        await engine.settle();
        if (!engine.alive) {
          await engine.restart();
          if ((await states(engine))[0] === "pending") await decide();
          await engine.settle();
        }
        const unknown = (await results(engine)).some((line) => line.includes("Outcome unknown"));
        expect(executed(engine).length, `${site} ${side}`).toBeLessThanOrEqual(1);
        if (!unknown) expect(executed(engine), `${site} ${side}`).toEqual(["exec"]);
        expect(await states(engine)).toEqual(["used"]);
        await expectQuiet(engine);
      }
    },
  );
});

describe("a silent note to an agent whose run waits for a person", () => {
  it("waits with it, costs no more than one look, and is read after the answer", async () => {
    const engine = await open();
    let releases = 0;
    engine.onCommit = ({ site }) => {
      if (site === "release" && ++releases > 20) engine.crash();
      return "go";
    };
    await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.settle();
    expect([engine.alive, releases <= 2]).toEqual([true, true]);
    expect((await engine.runs())[0]).toMatchObject({ state: "open", body: { suspended: true } });
    await answer(engine, true);
    await engine.settle();
    expect(executed(engine)).toEqual(["exec"]);
    expect((await engine.transcript()).join()).toContain("psst");
  });
});
