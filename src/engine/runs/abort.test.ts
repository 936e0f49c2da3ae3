import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, type Reply, stall } from "../../../test/kit/model.ts";
import { DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import type { RunId } from "../../core/ids.ts";
import { SUMMARY_SYSTEM_PROMPT } from "../context/compaction/summary-prompt.ts";
import { NOT_STARTED, UNKNOWN_OUTCOME } from "./call-tool.ts";
import { ask, liveRun } from "./loop.test-kit.ts";

describe("an abort", () => {
  it("right after the take ends the run without a reply", async () => {
    const engine = await TestEngine.open();
    const { commit } = engine.store;
    (engine.store as { commit: typeof commit }).commit = async (change) => {
      const result = await commit(change);
      const opened = change.ops.find((op) => op.op === "run.open");
      if (opened) {
        const ops = [{ op: "run.abort", runId: opened.runId, mark: { reason: "person", at: 1 } }] as const;
        await commit({ id: "elsewhere" as never, site: "abort", at: 1, ops });
      }
      return result;
    };
    await engine.tell("go");
    expect(await engine.runs()).toMatchObject([{ outcome: "aborted" }]);
    expect(engine.shown()).toEqual([]);
  });

  it("while the model streams keeps the text so far with a mark, and sends nothing", async () => {
    const engine = await TestEngine.open({ script: (call) => stall(call, new Promise(() => {}), "so far") });
    const answer = ask(engine);
    await engine.settle();
    expect(await engine.system.runs.abort(await liveRun(engine))).toBe(true);
    await engine.settle();
    const { result } = await answer;
    expect(result).toMatchObject({ outcome: "aborted", payloads: [], meta: { aborted: true, stopReason: "aborted" } });
    expect(await engine.states()).toEqual(["aborted"]);
    expect(await engine.deliveries()).toEqual([]);
    expect((await engine.entries()).at(-1)).toMatchObject({ stopReason: "aborted", content: [{ text: "so far" }] });
    expect((await engine.store.agent(await engine.agentId()))?.state.abortedLastRun).toBe(true);
  });

  it("while a tool works signals the tool, waits for a short time, and records what the tool may have done", async () => {
    let told = false;
    const engine = await TestEngine.open({
      script: () => ({ call: [{ name: "stubborn" }, { name: "later" }] }),
      tools: {
        stubborn: {
          execute: (_input, { signal }) => {
            signal.addEventListener("abort", () => {
              told = true;
            });
            return new Promise(() => {});
          },
        },
        later: {},
      },
    });
    const answer = ask(engine);
    await engine.settle();
    await engine.system.runs.abort(await liveRun(engine));
    await engine.settle();
    expect(told).toBe(true);
    expect(await engine.states()).toEqual(["taken"]);
    await engine.advance(5_000);
    expect(await engine.transcript()).toEqual([
      "user: go",
      "assistant: stubborn() later()",
      `tool: ${UNKNOWN_OUTCOME}`,
      `tool: ${NOT_STARTED}`,
    ]);
    expect((await answer).result?.meta.pendingToolCalls.map(({ name }) => name)).toEqual(["stubborn", "later"]);
    expect(engine.executions).toHaveLength(1);
  });

  it("while the context is summarised ends the run without another call of the model", async () => {
    const engine = await TestEngine.open({
      system: { contextLimits: () => ({ ...DEFAULT_CONTEXT_LIMITS, contextWindow: 500 }) },
      script: (call) => {
        if (call.request.system === SUMMARY_SYSTEM_PROMPT) return stall(call, new Promise(() => {}));
        return { content: [{ type: "text", text: "word ".repeat(60) }], usage: undefined };
      },
    });
    for (const said of ["one", "two", "three"]) await engine.tell(`${said} ${"word ".repeat(60)}`);
    // What is summarised in the background is no answer.
    const answers = () => engine.requests.filter(({ system }) => system !== SUMMARY_SYSTEM_PROMPT).length;
    expect([engine.requests.length, answers()]).toEqual([3, 2]);
    await engine.system.runs.abort(await liveRun(engine));
    await engine.advance(10_000);
    expect(answers()).toBe(2);
    expect((await engine.states()).at(-1)).toBe("aborted");
  });

  it("that is marked before the rest wins: no reply is delivered", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: () => hold.promise });
    await engine.tell("go");
    const runId = await liveRun(engine);
    // The mark is set in the store alone, as another node would do it.
    const ops = [{ op: "run.abort", runId, mark: { reason: "person", at: 1 } }] as const;
    await engine.store.commit({ id: "elsewhere" as never, site: "abort", at: 1, ops });
    hold.open("too late");
    await engine.settle();
    expect(await engine.runs()).toMatchObject([{ outcome: "aborted" }]);
    expect(engine.shown()).toEqual([]);
    expect(await engine.states()).toEqual(["aborted"]);
  });

  it("after the rest has no effect and returns false, as for an unknown run", async () => {
    const engine = await TestEngine.open();
    await engine.tell("go");
    expect(await engine.system.runs.abort(await liveRun(engine))).toBe(false);
    expect(await engine.system.runs.abort("nobody" as RunId)).toBe(false);
    expect(engine.shown()).toEqual(["answer to go"]);
  });

  it("lets the waiting messages continue", async () => {
    const engine = await TestEngine.open({
      script: (call) => (lastText(call.request) === "one" ? stall(call, new Promise(() => {})) : "fine"),
    });
    await engine.tell("one");
    await engine.tell("two");
    await engine.system.runs.abort(await liveRun(engine));
    await engine.settle();
    expect(await engine.states()).toEqual(["aborted", "answered"]);
  });

  it("also ends the run if the model ignores the signal", async () => {
    const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
    await engine.tell("go");
    await engine.system.runs.abort(await liveRun(engine));
    await engine.advance(60_000);
    expect(await engine.states()).toEqual(["aborted"]);
  });
});
