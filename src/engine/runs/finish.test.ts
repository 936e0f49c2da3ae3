/** The commit that ends a run: what hooks add to it, what stands around the answer, and what it changes in the agent's state. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { failure, inTurn, type Reply as Said } from "../../../test/kit/model.ts";
import type { NewDelivery } from "../../core/delivery/delivery.ts";
import type { AgentId, DeliveryId } from "../../core/ids.ts";
import type { Op } from "../../core/store/change.ts";
import type { Reply } from "../runtime/run-ports.ts";

const fact = (value: string, more: object = {}): Op => ({ op: "fact.put", key: "hook", value, ...more });
const nobody = "f".repeat(24) as AgentId;
const toNobody: Op = {
  ...{ op: "message.post", to: { agentId: nobody } },
  message: { body: { kind: "stop" }, acceptedAt: 1 },
};
const rests = (engine: TestEngine) => engine.commits.filter(({ site }) => site === "rest");

/** An engine whose hook returns these ops in turn; the last ones repeat. */
async function withHook(...turns: readonly (readonly Op[])[]) {
  let asked = 0;
  const engine = await TestEngine.open({
    system: { hooks: { opsOnRunEnd: async () => turns[Math.min(asked++, turns.length - 1)] ?? [] } },
  });
  return { engine, asked: () => asked };
}

describe("the ops that a hook adds to a run's end", () => {
  it("are asked for again if one is outdated, and the run ends once with the fresh ones", async () => {
    const { engine, asked } = await withHook([fact("old"), toNobody], [fact("stale"), toNobody], [fact("fresh")]);
    await engine.tell("go");
    expect(asked()).toBe(3);
    expect(await engine.store.fact("hook")).toBe("fresh");
    expect(engine.shown()).toEqual(["answer to go"]);
    expect(await engine.runs()).toMatchObject([{ state: "ended", outcome: "ok", attempt: 1 }]);
    expect(await engine.transcript()).toEqual(["user: go", "assistant: answer to go"]);
  });

  it("that stay outdated are given up after three tries, so that the agent is read again", async () => {
    const { engine, asked } = await withHook([fact("old"), toNobody]);
    await engine.tell("go");
    expect(asked()).toBe(3);
    expect(engine.shown()).toEqual([]);
    expect(await engine.store.fact("hook")).toBeUndefined();
  });

  test.each<[string, readonly Op[], number]>([
    ["are asked for again after a refusal, which may be theirs", [fact("once")], 2],
    ["that are none are not: the refusal is the end's own, and the agent is read again", [], 1],
  ])("%s", async (_title, ops, tries) => {
    const { engine, asked } = await withHook(ops);
    let rested = 0;
    const commitAsBefore = engine.store.commit;
    engine.store.commit = async (change) => {
      if (change.site !== "rest" || ++rested > 1) return commitAsBefore(change);
      return { ok: false, refused: "conflict", detail: "it has changed" };
    };
    await engine.tell("go");
    expect([rested, asked()]).toEqual([tries, tries]);
    await engine.advance(1_000);
    expect(await engine.runs()).toMatchObject([{ state: "ended", outcome: "ok" }]);
    expect(await engine.states()).toEqual(["answered"]);
  });

  test.each(["unknown-applied", "unknown-lost", "full"] as const)(
    "are not asked for again from memory after a commit that ends as %s",
    async (outcome) => {
      const { engine, asked } = await withHook([fact("once")]);
      let failed = 0;
      engine.onCommit = ({ site }, nth) => {
        if (site !== "rest" || nth > 1) return "go";
        failed = asked();
        return outcome;
      };
      await engine.tell("go");
      // The agent is read again only after a pause.
      expect([failed, asked()]).toEqual([1, 1]);
      await engine.advance(1_000);
      expect(asked()).toBe(outcome === "unknown-applied" ? 1 : 2);
      expect(await engine.store.fact("hook")).toBe("once");
      expect(rests(engine)).toHaveLength(1);
      expect(await engine.runs()).toMatchObject([{ state: "ended", outcome: "ok" }]);
      expect(await engine.states()).toEqual(["answered"]);
      expect(engine.requests.length).toBeLessThanOrEqual(2);
    },
  );
});

it("sends what a hook adds, and wakes the agents it writes to, without waiting", async () => {
  const engine = await TestEngine.open();
  await engine.tell("hi", { name: "bo" });
  const bo = await engine.agentId("bo");
  await engine.restart({
    hooks: {
      opsOnRunEnd: async ({ id }, _run, { outcome }, [reply]) => {
        if (id === bo || !reply) return [];
        const note = {
          ...reply,
          id: `${reply.id.split(".")[0]}.7` as DeliveryId,
          payload: { text: `ended ${outcome}` },
        };
        const message = { body: { kind: "user", text: "from the hook" }, acceptedAt: 1 } as const;
        return [
          { op: "delivery.add", delivery: note },
          { op: "message.post", to: { agentId: bo }, message },
        ];
      },
    },
  });
  await engine.tell("go");
  expect(engine.shown().slice(1)).toEqual(["answer to go", "ended ok"]);
  expect(await engine.states(bo)).toEqual(["answered", "answered"]);
  // What a hook writes is written for the person of its run.
  const [, , written] = await engine.transcript(bo);
  expect(written).toContain('<speaker id="test:ann"');
  expect(written).toContain("from the hook");
});

it("keeps no answer of a run that was stopped: neither its error nor its last line is one", async () => {
  const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
  await engine.tell("go");
  await engine.send({ kind: "stop" });
  await engine.settle();
  await engine.advance(60_000);
  const [run] = await engine.runs();
  expect(run).toMatchObject({ state: "ended", outcome: "aborted" });
  expect(run?.body).not.toHaveProperty("error");
  expect(run?.body).not.toHaveProperty("answer");
});

describe("the hook that changes an answer", () => {
  it("changes the agent's state with the delivery of its last text, and not without one", async () => {
    const seen: (string | undefined)[] = [];
    const replies: Reply[] = [
      { payloads: [{ text: "a" }, { text: "b" }] },
      { payloads: [{ text: "c" }], suppress: "for no one" },
      { payloads: [] },
    ];
    const engine = await TestEngine.open({
      system: {
        hooks: {
          replyOf: async () => {
            const reply = replies.shift();
            const stateFor = (delivery: NewDelivery) => {
              seen.push(delivery.payload.text);
              return { label: `told ${delivery.payload.text}` };
            };
            return reply && { ...reply, stateFor };
          },
        },
      },
    });
    for (const text of ["one", "two", "three"]) await engine.tell(text);
    expect(seen).toEqual(["b"]);
    expect((await engine.store.agent(await engine.agentId()))?.state).toMatchObject({ label: "told b" });
  });

  it("is asked about answers only, never about an error", async () => {
    const heard: (string | undefined)[] = [];
    const engine = await TestEngine.open({
      script: inTurn("fine", failure("request")),
      system: {
        hooks: {
          replyOf: async (_agent, _run, { payload }) => {
            heard.push(payload.text);
            return { payloads: [{ text: "changed" }] };
          },
        },
      },
    });
    await engine.tell("one");
    await engine.tell("two");
    expect(heard).toEqual(["fine"]);
    expect(engine.shown()).toEqual(["changed", "Inference failed. request error"]);
  });

  it("may make several texts of it, or none with a reason, and sees what the model thought", async () => {
    const thoughts: string[] = [];
    const blocks: Said = {
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "thinking", thinking: "aha" },
        { type: "text", text: "said" },
      ],
      stopReason: "stop",
    };
    const replies = [{ payloads: [{ text: "a" }, { text: "b" }] }, { payloads: [], suppress: "for no one" }];
    const engine = await TestEngine.open({
      script: () => blocks,
      system: {
        hooks: {
          replyOf: async (_agent, _run, { reasoning }) => {
            thoughts.push(reasoning);
            return replies[thoughts.length - 1];
          },
        },
      },
    });
    await engine.tell("one");
    await engine.tell("two");
    expect(thoughts).toEqual(["hm\naha", "hm\naha"]);
    expect(engine.shown()).toEqual(["a", "b"]);
    const rows = await engine.deliveries();
    expect(rows.map(({ state, reason }) => [state, reason ?? ""]).toSorted()).toEqual([
      ["sent", ""],
      ["sent", ""],
      ["suppressed", "for no one"],
    ]);
  });
});

describe("what stands around an answer of several texts", () => {
  const blocks: Said = {
    content: [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "first" },
      { type: "text", text: "second" },
      { type: "text", text: "third" },
    ],
    stopReason: "stop",
  };
  test.each([
    [{ responseUsage: "tokens" }, ["first", "second", "third\n\nUsage: 10 in / 5 out"]],
    [{ reasoningLevel: "on" }, ["Reasoning:\n_hm_", "first", "second", "third"]],
    [
      { reasoningLevel: "on", responseUsage: "tokens" },
      ["Reasoning:\n_hm_", "first", "second", "third\n\nUsage: 10 in / 5 out"],
    ],
    [{}, ["first", "second", "third"]],
  ])("is the reasoning before the first and the usage behind the last: %j", async (patch, shown) => {
    const engine = await TestEngine.open({
      script: inTurn("hello", blocks),
      settings: { runs: { blockReplyBreak: "text_end" } },
    });
    await engine.tell("hi");
    await engine.send({ kind: "setting", patch });
    await engine.settle();
    const before = engine.shown().length;
    await engine.tell("go");
    expect(engine.shown().slice(before)).toEqual(shown);
  });
});

describe("the state after a run", () => {
  const stateOf = async (engine: TestEngine) => (await engine.store.agent(await engine.agentId()))?.state;

  it("keeps the time of the last interaction if no person wrote", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    const at = engine.clock.now();
    await engine.advance(60_000);
    await engine.send({ kind: "trigger", text: "tick", trigger: { type: "cron", id: "j" } });
    await engine.settle();
    expect(await stateOf(engine)).toMatchObject({ lastInteractionAt: at, updatedAt: at + 60_000 });
    await engine.send({ kind: "trigger", text: "tick", trigger: { type: "cron", id: "j" } });
    await engine.settle();
    expect((await stateOf(engine))?.lastInteractionAt).toBe(at);
    await engine.tell("again");
    expect((await stateOf(engine))?.lastInteractionAt).toBe(at + 60_000);
  });

  it("names the address of the message that was answered last, with nothing left of an earlier one", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi", { delivery: { channel: "test", to: "ann", accountId: "acc", threadId: "7" } });
    expect(await stateOf(engine)).toMatchObject({ lastTo: "ann", lastAccountId: "acc", lastThreadId: "7" });
    // A schedule's run leaves it as it is.
    await engine.send(
      { kind: "trigger", text: "tick", trigger: { type: "cron", id: "j" } },
      { delivery: { channel: "test", to: "elsewhere" } },
    );
    await engine.settle();
    expect(await stateOf(engine)).toMatchObject({ lastTo: "ann", lastAccountId: "acc", lastThreadId: "7" });
    await engine.tell("from another place", { delivery: { channel: "test", to: "bo" } });
    const state = await stateOf(engine);
    expect(state).toMatchObject({ lastChannel: "test", lastTo: "bo", deliveryContext: { channel: "test", to: "bo" } });
    expect([state?.lastAccountId, state?.lastThreadId]).toEqual([undefined, undefined]);
  });
});
