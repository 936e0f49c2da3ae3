/** A provider may use the id of a tool call again: in a later turn, or twice in one answer. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn } from "../../../test/kit/model.ts";
import type { Block } from "../../core/history/entry.ts";
import type { ToolOutput } from "../../core/ports/tool.ts";
import { uniqueCalls } from "./unique-calls.ts";

const twiceInOneAnswer = (name: string) => ({
  call: [
    { id: "call_0", name, with: { n: 1 } },
    { id: "call_0", name, with: { n: 1 } },
  ],
});
const once = (name: string) => ({ call: [{ id: "call_0", name, with: { n: 1 } }] });

/** Its effect is a change of the store: a silent message to the same person, committed with the result (M12). */
const note = (engine: () => TestEngine) => async (): Promise<ToolOutput> => {
  const to = { agentId: await engine().agentId() };
  const body = { kind: "system", text: "noted", origin: "test", silent: true } as const;
  const message = { body, acceptedAt: engine().clock.now() };
  return { content: [{ type: "text", text: "noted" }], ops: [{ op: "message.post", to, message }] };
};

async function open(options: TestEngineOptions): Promise<TestEngine> {
  let engine: TestEngine | undefined;
  engine = await TestEngine.open({
    ...options,
    tools: {
      note: { execute: note(() => engine as TestEngine) },
      pay: { replay: "never" },
      ...options.tools,
    },
  });
  return engine;
}

/** Ids of calls and of results, as every request had them: each call has one result, and no id occurs twice. */
function expectAcceptable(engine: TestEngine): void {
  for (const { messages } of engine.requests) {
    const asked = messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === "toolCall" ? [block.id] : [])),
    );
    const answered = messages.flatMap(({ role, toolCallId }) => (role === "tool" ? [toolCallId] : []));
    expect(new Set(asked).size).toBe(asked.length);
    expect(answered).toEqual(asked);
  }
}

const posted = async (engine: TestEngine): Promise<number> =>
  (await engine.store.messages(await engine.agentId(), { limit: 100 })).filter(({ body }) => body.kind === "system")
    .length;
const ids = (engine: TestEngine): string[] => engine.executions.map(({ callId }) => callId);

describe("an id that a provider uses again", () => {
  it("twice in one answer: each call has its own effect and result", async () => {
    const engine = await open({ script: inTurn(twiceInOneAnswer("note"), "done") });
    await engine.tell("go");
    expect(await posted(engine)).toBe(2);
    expect(new Set(ids(engine)).size).toBe(2);
    expect(ids(engine)[0]).toBe("call_0");
    expectAcceptable(engine);
  });

  it("in a later turn: each call has its own effect and result", async () => {
    const engine = await open({ script: inTurn(once("note"), once("pay"), once("note"), "done") });
    await engine.tell("go");
    expect(await posted(engine)).toBe(2);
    expect(new Set(ids(engine)).size).toBe(3);
    expect(ids(engine)[0]).toBe("call_0");
    expectAcceptable(engine);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("in a later run of the session is replaced too: some providers refuse it in one context", async () => {
    const engine = await open({ script: inTurn(once("pay"), "done", once("pay"), "done") });
    await engine.tell("go");
    await engine.tell("again");
    expect(new Set(ids(engine)).size).toBe(2);
    expectAcceptable(engine);
  });

  for (const moment of ["before", "after"] as const) {
    it(`with a crash ${moment} the first result: what must not be repeated is not, the rest is executed`, async () => {
      const engine = await open({
        script: inTurn(
          { call: [...twiceInOneAnswer("pay").call, ...twiceInOneAnswer("note").call] },
          once("pay"),
          "done",
        ),
      });
      engine.onCommit = ({ site }) => (site === "result" ? `die-${moment}` : "go");
      await engine.tell("go");
      expect(engine.alive).toBe(false);
      await engine.restart();
      const paid = engine.executions.filter(({ name }) => name === "pay").map(({ callId }) => callId);
      expect(new Set(paid).size).toBe(paid.length);
      // After its commit the intent of the second call is recorded, but it never started.
      expect(paid).toHaveLength(moment === "before" ? 3 : 2);
      expect(await posted(engine)).toBe(2);
      const unknown = (await engine.transcript()).filter((line) => line.includes("Outcome unknown"));
      expect(unknown).toHaveLength(1);
      expectAcceptable(engine);
      expect(engine.shown()).toEqual(["done"]);
    });
  }

  it("is recognised after a crash, when the earlier turn is only in history", async () => {
    const hold = gate<string>();
    const engine = await open({
      script: inTurn(once("pay"), once("slow"), once("pay"), "done"),
      tools: { slow: { execute: () => hold.promise } },
    });
    await engine.tell("go");
    hold.open("done");
    await engine.restart();
    const paid = engine.executions.filter(({ name }) => name === "pay").map(({ callId }) => callId);
    expect(new Set(paid).size).toBe(2);
    expectAcceptable(engine);
  });

  it("leaves the ids alone that are unique, byte for byte", async () => {
    const engine = await open({
      script: inTurn(
        { call: [{ id: "toolu_01|fc_9", name: "pay" }] },
        { call: [{ id: "other", name: "pay" }] },
        "done",
      ),
    });
    await engine.tell("go");
    expect(ids(engine)).toEqual(["toolu_01|fc_9", "other"]);
  });
});

describe("uniqueCalls", () => {
  const call = (id: string): Block => ({ type: "toolCall", id, name: "x", arguments: {} });
  const idsOf = (content: readonly Block[]): string[] =>
    content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));

  it("makes every id unique and acceptable, whatever the provider says", () => {
    const id = fc.oneof(
      fc.constantFrom("", "call_0", "call_0-7-1", "call_0-7-1-1", "a|b", "ü", "x".repeat(5_000)),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(id, { maxLength: 30 }), fc.uniqueArray(id, { maxLength: 10 }), (asked, before) => {
        const used = new Set(before);
        const content = asked.map(call);
        const made = idsOf(uniqueCalls(content, used, 7));
        expect(new Set(made).size).toBe(made.length);
        for (const [index, one] of made.entries()) {
          expect(before).not.toContain(one);
          expect(one.length).toBeGreaterThan(0);
          expect(one.length).toBeLessThanOrEqual(1_000);
          const said = asked[index] ?? "";
          const isFirst = asked.indexOf(said) === index && !before.includes(said);
          // Kept where it can be kept; otherwise in a form that every provider accepts.
          if (one !== said) expect(one).toMatch(/^[\w-]{1,40}$/);
          if (isFirst && said !== "" && said.length <= 1_000 && !/^call/.test(said)) expect(one).toBe(said);
          expect(used.has(one)).toBe(true);
        }
      }),
    );
  });

  it("is the same array if every id is unique", () => {
    const content = [call("a"), call("b")];
    expect(uniqueCalls(content, new Set(), 1)).toBe(content);
  });

  it("is linear in the number of calls with one id", () => {
    const content = Array.from({ length: 20_000 }, () => call("call_0"));
    expect(new Set(idsOf(uniqueCalls(content, new Set(), 1))).size).toBe(20_000);
  });
});
