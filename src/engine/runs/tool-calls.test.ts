import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn } from "../../../test/kit/model.ts";
import { resultOf } from "./loop.test-kit.ts";

describe("tool calls", () => {
  it("get the agent as it is at the time of the call", async () => {
    const seen: unknown[] = [];
    const engine = await TestEngine.open({
      script: async ({ n }) => (n === 1 ? { call: [{ name: "look" }] } : "done"),
      tools: {
        look: {
          execute: (_input, { agent, agentId, runId }) => {
            seen.push([agent.id === agentId, agent.runId === runId, agent.descriptor.type, agent.state.stats]);
            return "seen";
          },
        },
      },
    });
    await engine.say("go");
    await engine.settle();
    expect(seen).toEqual([
      [true, true, "user", { scripted: { "scripted-1": expect.objectContaining({ total: 15 }) } }],
    ]);
  });

  it("run in parallel if the tools allow it, with their results in the order of the calls", async () => {
    const holds = { a: gate<string>(), b: gate<string>() };
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "a" }, { name: "b" }] }, "done"),
      tools: {
        a: { parallel: true, execute: () => holds.a.promise },
        b: { parallel: true, execute: () => holds.b.promise },
      },
    });
    await engine.tell("go");
    expect(engine.executions.map(({ name }) => name)).toEqual(["a", "b"]);
    holds.b.open("second");
    await engine.settle();
    holds.a.open("first");
    await engine.settle();
    expect((await engine.transcript()).slice(1)).toEqual([
      "assistant: a() b()",
      "tool: first",
      "tool: second",
      "assistant: done",
    ]);
  });

  it("run one after the other if one tool forbids parallel calls, each after its intent", async () => {
    let now = 0;
    let most = 0;
    const slow = async () => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now -= 1;
      return "ok";
    };
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "a" }, { name: "b" }, { name: "a" }] }, "done"),
      tools: { a: { parallel: true, execute: slow }, b: { parallel: false, execute: slow } },
    });
    await engine.tell("go");
    expect(most).toBe(1);
    expect(engine.commits.filter(({ site }) => site === "result")).toHaveLength(3);
  });

  it("are committed as intended before they are executed", async () => {
    const seen: string[] = [];
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "work" }] }, "done"),
      tools: {
        work: {
          execute: async (_input, { runId, callId }) => {
            const run = await engine.store.run(runId);
            seen.push(run?.body.calls.find((call) => call.callId === callId)?.state ?? "nowhere");
            return "ok";
          },
        },
      },
    });
    await engine.tell("go");
    expect(seen).toEqual(["intended"]);
  });

  it("that are invalid return errors to the model, and the run continues", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "nobody" }, { name: "strict", with: { n: "x" } }, { name: "thrower" }] }, "done"),
      tools: {
        strict: { input: z.object({ n: z.number() }), parallel: true },
        thrower: {
          parallel: true,
          execute: () => {
            throw new TypeError("it broke");
          },
        },
      },
    });
    await engine.tell("go");
    const results = (await engine.transcript()).slice(2, 5);
    expect(results[0]).toBe("tool: Unknown tool: nobody");
    expect(results[1]).toMatch(/^tool: Invalid arguments for strict/);
    expect(results[2]).toBe("tool: it broke");
    expect((await engine.entries()).filter(({ role }) => role === "tool").map(({ isError }) => isError)).toEqual([
      true,
      true,
      true,
    ]);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("with the same id are all executed, and each gets a result", async () => {
    let times = 0;
    const engine = await TestEngine.open({
      script: inTurn(
        {
          call: [
            { id: "x", name: "work" },
            { id: "x", name: "work" },
          ],
        },
        "done",
      ),
      tools: { work: { execute: () => `result ${++times}` } },
    });
    await engine.tell("go");
    expect((await engine.transcript()).slice(1)).toEqual([
      "assistant: work() work()",
      "tool: result 1",
      "tool: result 2",
      "assistant: done",
    ]);
  });

  it("that were cut off at the length limit are never executed, and the model reads why", async () => {
    const engine = await TestEngine.open({
      script: ({ n }) =>
        n === 1
          ? {
              stopReason: "length",
              content: [{ type: "toolCall", id: "c1", name: "work", arguments: {} }],
            }
          : "done",
      tools: { work: {} },
    });
    await engine.tell("go");
    expect(engine.executions).toEqual([]);
    expect((await engine.transcript())[2]).toMatch(/^tool: Not executed: the answer was cut off/);
    expect((await engine.entries()).find(({ role }) => role === "tool")).toMatchObject({ isError: true });
    expect(engine.shown()).toEqual(["done"]);
  });

  it("with malformed arguments are never executed; the others are, and the model continues", async () => {
    const engine = await TestEngine.open({
      script: ({ n }) =>
        n === 1
          ? {
              stopReason: "tool_calls",
              content: [
                { type: "toolCall", id: "c1", name: "work", arguments: {}, malformed: true },
                { type: "toolCall", id: "c2", name: "work", arguments: {} },
              ],
            }
          : "done",
      tools: { work: {} },
    });
    await engine.tell("go");
    expect(engine.executions).toHaveLength(1);
    expect((await engine.transcript()).join("\n")).toContain(
      "tool: Not executed: the arguments are not a complete JSON",
    );
    expect((await engine.entries()).filter(({ role }) => role === "tool").map(({ isError }) => isError)).toEqual([
      true,
      false,
    ]);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("that are cut off three times in a row end the run, and one that is whole in between begins the count again", async () => {
    const cut = {
      stopReason: "length",
      content: [{ type: "toolCall", id: "c", name: "work", arguments: {} }],
    } as const;
    const engine = await TestEngine.open({
      script: ({ n }) => (n === 3 ? { call: [{ name: "work" }] } : cut),
      tools: { work: {} },
    });
    const result = await resultOf(engine);
    expect(engine.requests).toHaveLength(6);
    expect(engine.executions).toHaveLength(1);
    expect(engine.shown()).toEqual([expect.stringContaining("cut off at their length limit three times in a row")]);
    expect(result).toMatchObject({ outcome: "error", meta: { error: { kind: "tool_limit" } } });
  });

  it("whose output is unreadable become an error, and history stays readable", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "odd" }] }, "done"),
      tools: { odd: { execute: () => ({ content: [{ type: "resource", uri: "x" }] }) as never } },
    });
    await engine.tell("go");
    await engine.restart();
    await engine.tell("again");
    expect(engine.logged("warn")).toEqual([]);
    expect(JSON.parse(engine.sentBytes.at(-1) ?? "[]")[0].content[0].text).toBe("go");
  });

  it("stop at the iteration limit, with a text for the person", async () => {
    const engine = await TestEngine.open({
      script: () => ({ call: [{ name: "work" }] }),
      tools: { work: {} },
      settings: { runs: { maxIterations: 4 } },
    });
    const result = await resultOf(engine);
    expect(engine.requests).toHaveLength(4);
    expect(engine.shown()).toEqual(["Tool execution limit reached."]);
    expect(result).toMatchObject({ outcome: "error", meta: { error: { kind: "tool_limit" } } });
  });
});
