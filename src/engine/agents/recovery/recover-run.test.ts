/** A restart resumes the runs it finds, tries them, or gives them up. */
import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, stall } from "../../../../test/kit/model.ts";
import type { RunId } from "../../../core/ids.ts";
import { OWNER } from "../../../core/people/person.ts";
import { timedEngine } from "./trials.test-kit.ts";

const never = new Promise<never>(() => {});

/** A run of ann's that waits for the owner's yes. */
async function suspended(wishes?: { timeoutSeconds: number }, options: TestEngineOptions = {}) {
  const engine = await TestEngine.open({
    script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "exec" }] }),
    tools: { exec: { rights: ["exec"] } },
    ...options,
    system: { rights: {}, ...options.system },
    settings: { owner: { accounts: ["test:olga"] } },
  });
  const person = { id: "ann", role: "guest", accounts: ["test:ann"], grants: [{ ask: "exec" }] } as const;
  await engine.put({ op: "person.put", person: { ...person, createdAt: 1, createdBy: "owner" } });
  await engine.tell("", { body: { kind: "user", text: "go", wishes } });
  expect(await engine.agent()).toMatchObject({ suspended: true });
  const approve = async (): Promise<void> => {
    const [asked] = await engine.store.approvals({ limit: 1 });
    if (!asked) throw new TypeError("no question");
    await engine.system.approvals.decide(asked.id, { approve: true }, { person: OWNER, surface: "test" });
    await engine.settle();
  };
  return { engine, approve };
}

describe("restore: discard", () => {
  it("gives up the messages that came before the start, and no later one", async () => {
    const engine = await TestEngine.open();
    await engine.tell("first");
    await engine.drain();
    const agentId = await engine.agentId();
    const post = async (text: string, early: number): Promise<void> => {
      const message = { body: { kind: "user", text } as const, acceptedAt: engine.clock.now() - early };
      await engine.put({ op: "message.post", to: { agentId }, message });
    };
    await post("early", 1);
    await post("now", 0);
    await engine.restart({ settings: { runs: { restore: "discard" } } });
    expect(await engine.states()).toEqual(["answered", "discarded", "answered"]);
  });

  it("gives up a run of this process that always fails inside the program", async () => {
    const engine = await TestEngine.open({
      script: () => never,
      settings: { runs: { restore: "discard" } },
    });
    await engine.tell("work");
    await engine.restart();
    expect(await engine.states()).toEqual(["failed"]);
    await engine.tell("next");
    expect((await engine.runs()).map(({ state }) => state)).toEqual(["ended", "open"]);
  });

  it("leaves a run alone that waits for a person", async () => {
    const { engine, approve } = await suspended();
    await engine.restart({ settings: { runs: { restore: "discard" } } });
    expect(await engine.agent()).toMatchObject({ suspended: true });
    await approve();
    expect(engine.shown().at(-1)).toBe("done");
  });
});

describe("a run that ends anyway", () => {
  /** A run that two crashes made a suspect. */
  async function suspect(restore: "resume" | "discard" = "resume"): Promise<TestEngine> {
    const engine = await timedEngine();
    // The one that is alone on trial, and the one that waits for it.
    await engine.tell("takes 60000", { name: "first" });
    await engine.tell("takes 60000");
    await engine.restart();
    await engine.restart({ settings: { runs: { restore: restore } } });
    return engine;
  }

  test.each<[string, (engine: TestEngine) => Promise<unknown>, string]>([
    ["by a stop", async (engine) => engine.system.lifecycle.stop(await engine.agentId(), "enough"), "aborted"],
    ["by a stop of a person", (engine) => engine.tell("", { body: { kind: "stop" } }), "aborted"],
    ["by a reset", (engine) => engine.tell("", { body: { kind: "reset", by: "person" } }), "aborted"],
    [
      "by an abort",
      async (engine) => engine.system.runs.abort((await engine.runs())[0]?.id ?? ("none" as RunId)),
      "aborted",
    ],
  ])("ends at once and is not tried: %s", async (_title, end, outcome) => {
    const engine = await suspect();
    const requests = engine.requests.length;
    await end(engine);
    await engine.settle();
    expect((await engine.runs())[0]).toMatchObject({ state: "ended", outcome });
    expect(engine.requests).toHaveLength(requests);
  });

  it("is not tried with restore: discard", async () => {
    const engine = await suspect("discard");
    expect(await engine.states()).toEqual(["failed"]);
  });
});

describe("a resumed run", () => {
  it("is not recorded as recovered from a crash after an answer, here or after a restart", async () => {
    for (const restarts of [0, 1]) {
      const { engine, approve } = await suspended();
      for (let n = 0; n < restarts; n++) await engine.restart();
      await approve();
      const [run] = await engine.runs();
      const sites = run?.body.commits?.map(({ site }) => site) ?? [];
      expect([run?.outcome, run?.attempt, sites.includes("continue"), sites.includes("resume")]).toEqual([
        ...["ok", 1, true, false],
      ]);
      expect(engine.logged("info")).not.toContain("resumed a run after a crash");
    }
  });

  it("reads a stop that came while it was suspended before it starts anything", async () => {
    const { engine } = await suspended();
    engine.crash();
    await engine.retire();
    const message = { body: { kind: "stop" } as const, acceptedAt: engine.clock.now() };
    await engine.put({ op: "message.post", to: { agentId: await engine.agentId() }, message });
    await engine.boot();
    await engine.settle();
    expect((await engine.runs())[0]).toMatchObject({ state: "ended", outcome: "aborted" });
    expect(engine.executions).toEqual([]);
  });

  test.each<[string, { timeoutSeconds: number } | undefined, number, string | undefined]>([
    ["counts its own limit while it waits", { timeoutSeconds: 60 }, 50_000, "timeout"],
    ["does not count the default limit while it waits", undefined, 23 * 3600_000, undefined],
  ])("%s", async (_title, wishes, waited, outcome) => {
    const { engine, approve } = await suspended(wishes, {
      script: (call) =>
        call.request.messages.at(-1)?.role === "tool" ? stall(call, never) : { call: [{ name: "exec" }] },
    });
    await engine.advance(waited);
    await approve();
    expect(engine.executions).toHaveLength(1);
    await engine.advance(11_000);
    expect((await engine.runs())[0]?.outcome).toBe(outcome);
  });

  it("names the agent's person if an earlier version named no one", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({ script: () => hold.promise });
    await engine.tell("work");
    const [run] = await engine.runs();
    const { id: agentId, node, epoch } = await engine.agent();
    if (!run || node === undefined) throw new TypeError("no run");
    const { behalf, ...body } = run.body;
    const op = { op: "run.amend", runId: run.id, body } as const;
    const owner = { agentId, node, epoch, run: { id: run.id, step: run.step } };
    engine.crash();
    const id = "earlier" as Parameters<typeof engine.store.commit>[0]["id"];
    expect(await engine.store.commit({ id, site: "test", at: engine.clock.now(), owner, ops: [op] })).toMatchObject({
      ok: true,
    });
    engine.script = ({ request }) => `answer to ${lastText(request)}`;
    await engine.restart();
    expect((await engine.runs())[0]?.body.behalf?.person).toBe(behalf?.person);
    expect(engine.shown()).toEqual(["answer to work"]);
  });
});
