import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import { MODEL_TRIES, type ModelErrorClass, type ModelRequest, type ModelResult } from "../../core/ports/model.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { modelTool, noAnswer, waitBefore } from "./model-call.ts";

const request: ModelRequest = { model: "m", system: "", messages: [], tools: [], sessionId: "s" };
const failed = (kind: ModelErrorClass, retryAfterMs?: number): ModelResult => {
  const result = noAnswer(request, kind, "no");
  return { ...result, error: { class: kind, message: "no", retryAfterMs } };
};

describe("a model call that failed", () => {
  test.each<[ModelErrorClass, number, number | undefined]>([
    ["transient", 1, 2_000],
    ["transient", 2, 4_000],
    ["rate", 1, 2_000],
    ["transient", MODEL_TRIES.transient, undefined],
    ["rate", MODEL_TRIES.rate, undefined],
    ["auth", 1, undefined],
    ["request", 1, undefined],
    ["overflow", 1, undefined],
    ["aborted", 1, undefined],
  ])("is tried again after a wait that doubles, if it may pass: %s after %i tries", (kind, tries, ms) => {
    expect(waitBefore(failed(kind), tries)).toBe(ms);
  });

  it("waits as long as the provider says, and never again once its tries are used up", () => {
    expect(waitBefore(failed("rate", 70_000), 1)).toBe(70_000);
    expect(waitBefore(failed("transient", 0), 1)).toBe(0);
    expect(waitBefore(failed("rate", 70_000), MODEL_TRIES.rate)).toBeUndefined();
  });

  test.each<[ModelErrorClass, string]>([
    ["aborted", "aborted"],
    ["transient", "error"],
    ["auth", "error"],
  ])("has no content, and says why it ended: %s", (kind, stopReason) => {
    expect(noAnswer(request, kind, "because")).toMatchObject({
      ...{ content: [], stopReason, model: "m", error: { class: kind, message: "because" } },
    });
  });
});

describe("a tool as a model is sent it", () => {
  const tool = { name: "t", description: "does", input: z.object({ n: z.number() }) } as unknown as Tool;

  it("is made once: the same tool has the same form, another one its own", () => {
    const sent = modelTool(tool);
    expect(sent).toMatchObject({ name: "t", description: "does", parameters: { type: "object" } });
    expect(modelTool(tool)).toBe(sent);
    expect(modelTool({ ...tool, name: "other" }).name).toBe("other");
  });

  it("has the parameters that it brings itself", () => {
    const parameters = { type: "object", properties: { own: { type: "string" } } };
    expect(modelTool({ ...tool, parameters }).parameters).toEqual(parameters);
  });
});
