/** When a run reports its answer, what it does while it waits for a lane or another agent, and what a recovered run proves. */
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, type Reply } from "../../../../test/kit/model.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../../core/history/compaction-settings.ts";
import type { RunId } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { Op } from "../../../core/store/change.ts";

it("reports the answer before it measures the context", async () => {
  const hold = gate<ContextLimits>();
  let isAtRest = false;
  let asked = 0;
  const engine = await TestEngine.open({
    system: {
      contextLimits: () => {
        if (!isAtRest) return DEFAULT_CONTEXT_LIMITS;
        asked += 1;
        return hold.promise;
      },
    },
  });
  engine.onCommit = ({ site }) => {
    isAtRest ||= site === "rest";
    return "go";
  };
  let answer: string | undefined;
  // A model of its own for this message: the limits between runs must be resolved again.
  const body = { kind: "user", text: "go", wishes: { model: "other" } } as const;
  void engine.system.postAndAwait({ ...engine.person(), body }).then(({ result }) => {
    answer = result?.payloads[0]?.text;
  });
  await engine.settle();
  expect([asked, answer]).toEqual([1, "answer to go"]);
  hold.open(DEFAULT_CONTEXT_LIMITS);
  await engine.settle();
});

it("makes three commits and two for its delivery", async () => {
  const engine = await TestEngine.open();
  await engine.tell("one");
  const before = engine.commits.length;
  await engine.tell("two");
  await engine.advance(1_000);
  const sites = engine.commits.slice(before).map(({ site }) => site);
  expect(sites).toEqual(["accept", "take", "rest", "outbox.sending", "outbox.sent"]);
});

it("does not measure the context of a run that ended during a drain", async () => {
  let drained: Promise<void> | undefined;
  let asked = 0;
  const engine = await TestEngine.open({
    system: {
      contextLimits: () => {
        if (drained) asked += 1;
        return DEFAULT_CONTEXT_LIMITS;
      },
    },
  });
  engine.onCommit = ({ site }) => {
    if (site === "rest") drained ??= engine.system.drain();
    return "go";
  };
  await engine.tell("", { body: { kind: "user", text: "go", wishes: { model: "other" } } });
  await drained;
  expect([drained !== undefined, asked]).toEqual([true, 0]);
  expect(await engine.states()).toEqual(["answered"]);
});

describe("an interrupted run", () => {
  /** Ann's agent asks Bo's; the model of Bo's agent waits for the test. */
  async function asking() {
    const hold = gate<Reply>();
    const engine: TestEngine = await TestEngine.open({
      script: ({ request }) => {
        if (lastText(request).includes("question")) return hold.promise;
        return request.messages.at(-1)?.role === "tool"
          ? `heard ${lastText(request, "tool")}`
          : { call: [{ name: "ask" }] };
      },
      tools: {
        ask: {
          replay: "safe",
          execute: async (_input, { agentId, callId, runId, signal }) => {
            const { result } = await engine.system.postAndAwait(
              { to: engine.person("bo").to, body: { kind: "user", text: "question" }, key: `${runId}/${callId}` },
              { from: agentId, signal, timeoutMs: 3600_000 },
            );
            return result?.payloads[0]?.text ?? "nothing";
          },
        },
      },
    });
    await engine.tell("go");
    return { engine, hold };
  }

  it("restarts its count of attempts when it waits for another agent", async () => {
    const { engine, hold } = await asking();
    const [before] = await engine.runs();
    expect(before).toMatchObject({ attempt: 1, state: "open" });
    await engine.restart();
    const [during] = await engine.runs();
    expect(during).toMatchObject({ id: before?.id, attempt: 1 });
    expect(engine.commits.filter(({ site }) => site === "waits")).toHaveLength(1);
    hold.open("an answer");
    await engine.settle();
    expect(engine.shown()).toEqual(["heard an answer"]);
  });

  it("commits nothing at a wait if it was not interrupted", async () => {
    const { engine, hold } = await asking();
    expect(engine.commits.filter(({ site }) => site === "waits")).toEqual([]);
    hold.open("an answer");
    await engine.settle();
    expect(engine.shown()).toEqual(["heard an answer"]);
  });
});

describe("a run that waits for a lane", () => {
  /** Ann's run holds the only place; Bo's message waits for it. */
  async function waiting(bo: MessageBody = { kind: "user", text: "two" }) {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      script: async ({ request }) => (lastText(request) === "one" ? hold.promise : `answer to ${lastText(request)}`),
      settings: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 } },
    });
    await engine.tell("one");
    await engine.send(bo, { name: "bo" });
    await engine.settle();
    const agentId = await engine.agentId("bo");
    expect(engine.system.runs.queued(agentId)).toBeDefined();
    const free = async (): Promise<void> => {
      hold.open("done");
      await engine.settle();
    };
    return { engine, agentId, free };
  }

  it("takes what came in the meantime, and leaves the lane free", async () => {
    const { engine, agentId, free } = await waiting();
    await engine.send({ kind: "user", text: "now", queue: { mode: "interrupt" } }, { name: "bo" });
    await free();
    expect((await engine.runs(agentId)).map(({ body }) => body.seqs)).toEqual([[2], [1]]);
    expect(engine.system.lanes.counts().main.active).toBe(0);
  });

  it("begins nothing if the node drains before its turn", async () => {
    const { engine, agentId, free } = await waiting();
    const drained = engine.system.drain();
    await free();
    await drained;
    expect([await engine.runs(agentId), await engine.states(agentId)]).toEqual([[], ["waiting"]]);
  });

  it("leaves the lane free if its commit fails", async () => {
    const { engine, agentId, free } = await waiting();
    let failed = 0;
    engine.onCommit = ({ site }) => (site === "take" && failed++ === 0 ? "full" : "go");
    await free();
    expect(engine.system.lanes.counts().main.active).toBe(0);
    await engine.advance(1_000);
    expect(await engine.states(agentId)).toEqual(["answered"]);
  });

  it("settles aborted messages for their callers only after the commit", async () => {
    const { engine, agentId, free } = await waiting();
    const run = engine.system.runs.queued(agentId);
    if (!run) throw new TypeError("no run");
    const paused = engine.pauseAt("abort.queued");
    await engine.system.runs.abort(run);
    await paused.reached;
    expect(await engine.states(agentId)).toEqual(["waiting"]);
    paused.release();
    await engine.settle();
    expect(await engine.states(agentId)).toEqual(["aborted"]);
    await free();
    expect(await engine.runs(agentId)).toEqual([]);
  });
});

it("keeps the promised id for its message if another one goes first", async () => {
  const engine = await TestEngine.open();
  await engine.tell("hi");
  const agentId = await engine.agentId();
  await engine.drain();
  const post = (text: string, more: object = {}): Op => ({
    ...{ op: "message.post", to: { agentId } },
    message: { body: { kind: "user", text }, acceptedAt: engine.clock.now(), ...more },
  });
  await engine.put(post("one"), post("two", { asRun: "promised" as RunId }));
  await engine.restart();
  expect((await engine.runs()).map(({ id, body }) => [id === "promised", body.seqs])).toEqual([
    [false, [1]],
    [false, [2]],
    [true, [3]],
  ]);
});
