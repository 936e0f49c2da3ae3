/** A run on its way: when its answer is told, and what a wait for another agent proves about a run that a crash interrupted. */
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, type Reply } from "../../../../test/kit/model.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../../core/history/compaction-settings.ts";

it("tells the answer of a run before it looks at what its context needs", async () => {
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

it("costs three commits and two of its delivery, and the agent rests: it is not claimed again for a small context", async () => {
  const engine = await TestEngine.open();
  await engine.tell("one");
  const before = engine.commits.length;
  await engine.tell("two");
  await engine.advance(1_000);
  const sites = engine.commits.slice(before).map(({ site }) => site);
  expect(sites).toEqual(["accept", "take", "rest", "outbox.sending", "outbox.sent"]);
});

it("looks at nothing more after a run that ended while the node drains", async () => {
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
  await engine.tell("go", { body: { kind: "user", text: "go", wishes: { model: "other" } } } as never);
  await drained;
  expect([drained !== undefined, asked]).toEqual([true, 0]);
  expect(await engine.states()).toEqual(["answered"]);
});

describe("a run that a crash interrupted", () => {
  /** Ann's agent asks Bo's, whose model answers when the test lets it. */
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

  it("has made progress when it waits for another agent: its attempts are counted from one again", async () => {
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

  it("commits nothing at a wait if it was never interrupted", async () => {
    const { engine, hold } = await asking();
    expect(engine.commits.filter(({ site }) => site === "waits")).toEqual([]);
    hold.open("an answer");
    await engine.settle();
    expect(engine.shown()).toEqual(["heard an answer"]);
  });
});
