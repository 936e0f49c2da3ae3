/** A provider may use the id of a tool call again: in a later turn, or twice in one answer. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn } from "../../../test/kit/model.ts";
import { type Block, entryLine } from "../../core/history/entry.ts";
import type { AgentId, EntryId, RunId, SessionId } from "../../core/ids.ts";
import type { ToolOutput } from "../../core/ports/tool.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { uniqueCalls, usedCallIds } from "./unique-calls.ts";

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

  it.each([
    ["used", "used-7-0"],
    ["", "call-7-0"],
    ["x".repeat(1_000), "x".repeat(1_000)],
    ["x".repeat(1_001), `${"x".repeat(16)}-7-0`],
    ["a|b", "a_b-7-0"],
    ["guess", "guess-7-0-2"],
  ])("keeps the beginning of an id that is replaced, with its place: %s", (id, own) => {
    const used = new Set(["used", "a|b", "guess", "guess-7-0", "guess-7-0-1"]);
    expect(idsOf(uniqueCalls([call(id)], used, 7))).toEqual([own]);
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

describe("the ids that a run must not use again", () => {
  const call = (id: string): Block => ({ type: "toolCall", id, name: "x", arguments: {} });
  const said = (runId: string, ...ids: string[]) => ({
    ...{ type: "message", role: "assistant", content: ids.map(call), timestamp: 1, runId: runId as RunId },
  });
  const marker = { type: "start", sessionId: "s" as SessionId, timestamp: 1 };

  /** A history of which a compaction has left nothing in the context but `shown`. */
  const used = async (history: readonly object[], iterations: number, shown: readonly Block[] = []) => {
    const idOf = (n: number): EntryId => `e${n}` as EntryId;
    const lines = history.map((entry, n) => ({
      position: n,
      line: entryLine({ ...entry, id: idOf(n), parentId: n === 0 ? null : idOf(n - 1) } as never),
    }));
    let reads = 0;
    const linesBack = async (_agent: AgentId, { before = lines.length, limit }: { before?: number; limit: number }) => {
      reads += 1;
      return lines.slice(Math.max(0, before - limit), before).reverse();
    };
    const messages = async () => [{ role: "assistant", content: shown }];
    const lease = { agentId: "a" as AgentId, leaf: idOf(history.length - 1), messages } as unknown as AgentLease;
    const run = { id: "r2" as RunId, body: { iterations } } as unknown as LiveRun;
    const found = await usedCallIds({ store: { linesBack } } as never, lease, run);
    expect(await usedCallIds({ store: { linesBack } } as never, lease, run)).toBe(found);
    return { ids: [...found].sort().join(" "), reads };
  };
  const history = [marker, said("r2", "older"), said("r1", "other"), said("r2", "a", "b"), said("r2", "c")];

  it("are those of its own earlier turns, also if a compaction took them out of the context", async () => {
    expect(await used(history, 2, [call("shown")])).toEqual({ ids: "a b c shown", reads: 1 });
    expect(await used(history, 1)).toEqual({ ids: "c", reads: 1 });
    expect(await used(history, 3)).toEqual({ ids: "a b c older", reads: 1 });
  });

  it("are not searched for beyond the beginning of the session", async () => {
    const reset = { type: "reset", sessionId: "s2" as SessionId, timestamp: 1 };
    expect((await used([...history, reset, said("r2", "d")], 9)).ids).toBe("d");
    expect((await used([said("r2", "z"), marker, said("r2", "d")], 9)).ids).toBe("d");
  });

  it("are those of the context alone for a run that has not answered yet: history is not read", async () => {
    expect(await used(history, 0, [call("shown")])).toEqual({ ids: "shown", reads: 0 });
  });
});
