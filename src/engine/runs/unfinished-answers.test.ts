/** Answers that ended before they were whole: which of their calls are handed over, and what history keeps of them. */
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { failure, inTurn } from "../../../test/kit/model.ts";
import type { Block } from "../../core/history/entry.ts";
import type { RunId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";

const call = (more: object = {}): Block =>
  ({ type: "toolCall", id: "c1", name: "weather", arguments: { city: "Ro" }, ...more }) as Block;
const tools = [{ name: "weather", description: "Weather", parameters: { type: "object" } }];
const ask = async (engine: TestEngine): Promise<void> => {
  const behalf = { person: "test:ann" as PersonId };
  await engine.send({ kind: "user", text: "weather", wishes: { tools } }, { behalf });
  await engine.settle();
};

describe("a call of a tool that the caller executes", () => {
  it.each([
    ["was cut off", { content: [call()], stopReason: "length" as const }, "was cut off at its length limit"],
    [
      "has arguments that are not whole",
      { content: [call({ malformed: true })], stopReason: "tool_calls" as const },
      "are not a complete JSON object",
    ],
  ])("is not handed over if it %s: the model reads why and goes on", async (_title, reply, why) => {
    const engine = await TestEngine.open({ script: inTurn(reply, "sorry") });
    await ask(engine);
    const [run] = await engine.runs();
    expect(run?.body.pendingToolCalls ?? []).toEqual([]);
    const lines = await engine.transcript();
    expect(lines[2]).toContain(why);
    expect(lines.at(-1)).toBe("assistant: sorry");
    expect(engine.requests).toHaveLength(2);
  });

  it("is handed over if it is whole", async () => {
    const engine = await TestEngine.open({ script: () => ({ content: [call()], stopReason: "tool_calls" }) });
    await ask(engine);
    expect((await engine.runs())[0]?.body.pendingToolCalls).toMatchObject([{ id: "c1", name: "weather" }]);
    expect(engine.requests).toHaveLength(1);
  });
});

describe("an answer that had only begun a call", () => {
  it("leaves nothing in history if it fails", async () => {
    const engine = await TestEngine.open({ script: () => ({ ...failure("auth"), content: [call()] }) });
    await engine.tell("go");
    expect(await engine.states()).toEqual(["failed"]);
    expect(await engine.transcript()).toEqual(["user: go"]);
    expect(engine.shown()).toHaveLength(1);
  });

  it("leaves nothing in history if its run is aborted", async () => {
    const engine = await TestEngine.open({
      script: ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ ...failure("aborted"), content: [call()] }));
        }),
    });
    await engine.tell("go");
    await engine.system.runs.abort((await engine.runs())[0]?.id as RunId);
    await engine.settle();
    expect(await engine.states()).toEqual(["aborted"]);
    expect(await engine.transcript()).toEqual(["user: go"]);
    expect(engine.shown()).toEqual([]);
  });
});
