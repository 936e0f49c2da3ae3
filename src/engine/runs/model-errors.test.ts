import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { failure, inTurn } from "../../../test/kit/model.ts";
import { DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import { SUMMARY_SYSTEM_PROMPT } from "../context/compaction/summary-prompt.ts";
import { resultOf } from "./loop.test-kit.ts";

const OVERFLOW_TEXT =
  "Context overflow: prompt too large for the model. Try again with less input or a larger-context model.";

describe("errors of the model", () => {
  for (const [errorClass, kind, text] of [
    ["auth", "model", "Inference failed. auth error"],
    ["request", "model", "Inference failed. request error"],
    ["overflow", "context_overflow", OVERFLOW_TEXT],
  ] as const) {
    it(`of the class ${errorClass} end the run at once, and the person gets a message`, async () => {
      const engine = await TestEngine.open({ script: () => failure(errorClass) });
      const result = await resultOf(engine);
      expect(engine.requests).toHaveLength(1);
      expect(result).toMatchObject({ outcome: "error", meta: { error: { kind } }, payloads: [{ isError: true }] });
      expect(engine.shown()).toEqual([text]);
      expect(await engine.states()).toEqual(["failed"]);
    });
  }

  it.each([
    ["auth", false],
    ["request", false],
    ["transient", undefined],
    ["rate", undefined],
  ] as const)(
    "of the class %s (a provider's 401 and 400 are the first two) are retryable: %s",
    async (errorClass, retryable) => {
      const engine = await TestEngine.open({ script: () => failure(errorClass) });
      expect((await resultOf(engine, "go", 120_000)).meta.error).toEqual({
        ...{ kind: "model", message: `Inference failed. ${errorClass} error`, retryable },
      });
      expect(await engine.transcript()).toEqual(["user: go"]);
    },
  );

  it("of a summary that is needed to go on are told with the overflow that follows", async () => {
    const engine = await TestEngine.open({
      system: { contextLimits: () => ({ ...DEFAULT_CONTEXT_LIMITS, contextWindow: 500 }) },
      script: ({ request }) =>
        request.system === SUMMARY_SYSTEM_PROMPT
          ? failure("auth")
          : { content: [{ type: "text", text: "fine" }], usage: undefined },
    });
    await engine.tell("word ".repeat(50));
    await engine.tell("word ".repeat(2_000));
    const message = `${OVERFLOW_TEXT} ⚙️ Compaction failed: auth error`;
    expect((await engine.runs()).at(-1)?.body.error).toEqual({ kind: "compaction_failure", message });
    expect(engine.shown().at(-1)).toBe(message);
  });

  it("keep the text so far with a mark, and leave no call open", async () => {
    const engine = await TestEngine.open({
      script: inTurn(
        {
          ...failure("request"),
          content: [
            { type: "text", text: "half a" },
            { type: "toolCall", id: "c", name: "work", arguments: {} },
          ],
        },
        "fine",
      ),
      tools: { work: {} },
    });
    await engine.tell("go");
    expect((await engine.entries()).at(-1)).toMatchObject({ role: "assistant", stopReason: "error" });
    expect(await engine.transcript()).toEqual(["user: go", "assistant: half a"]);
    await engine.tell("again");
    expect(engine.shown().at(-1)).toBe("fine");
  });

  it("that the port throws against its contract are handled like the others", async () => {
    const engine = await TestEngine.open({
      script: () => {
        throw new TypeError("undefined is not a function");
      },
    });
    const result = await resultOf(engine, "go", 60_000);
    expect(result.outcome).toBe("error");
    expect(engine.requests).toHaveLength(3);
  });
});
