/**
 * Misspelt arguments of tool calls: a tool of ours refuses them with the closest one before anyone is asked; a tool of a program does
 * what its own schema does.
 */
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { lastText, modelResult } from "../../../test/kit/model.ts";
import type { Model } from "../../core/ports/model.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { createRookery, type Rookery } from "./create-rookery.ts";
import { defineTool } from "./define-tool.ts";

let rookery: Rookery;
afterEach(() => rookery.close());

/** Makes one call. Returns its result and the number of questions that people were asked. */
async function callOnce(name: string, given: Record<string, unknown>, tools: readonly Tool[] = []) {
  const model: Model = {
    call: async (request) =>
      modelResult(
        request.messages.at(-1)?.role === "tool" ? lastText(request, "tool") : { call: [{ name, with: given }] },
      ),
  };
  const config = { permissions: { ask: ["write", "edit", "read"] } };
  rookery = await createRookery({ home: "memory", model, tools, config });
  const clerk = await rookery.permanent("clerk", { description: "Works", systemPrompt: "You work." });
  const receipt = await clerk.send("go");
  await rookery.settled();
  const questions = (await rookery.approvals.list()).items.length;
  const { outcome, text } = await receipt.result();
  return { outcome, text, questions };
}

it.each([
  ["write", { path: "a.txt", content: "a", contnet: "b" }, 'Unknown key "contnet". Did you mean "content"?'],
  ["read", { pathh: "a.txt" }, 'Unknown key "pathh". Did you mean "path"?'],
  ["edit", { path: "a", oldText: "a", newText: "b", al: true }, 'Unknown key "al". Did you mean "all"?'],
])("%s refuses a misspelt argument without a question", async (name, given, says) => {
  const { outcome, text, questions } = await callOnce(name, given);
  expect([outcome, questions]).toEqual(["ok", 0]);
  expect(text).toContain(`Invalid arguments for ${name}: `);
  expect(text).toContain(says);
});

it("a tool of a program keeps what its schema does with unknown arguments", async () => {
  const about = { name: "weather", description: "Weather", execute: (input: object) => input };
  const open = await callOnce("weather", { city: "Rome", dya: 1 }, [
    defineTool({ ...about, input: z.looseObject({ city: z.string() }) }),
  ]);
  expect(open.text).toBe('{"city":"Rome","dya":1}');
  await rookery.close();
  const stripping = await callOnce("weather", { city: "Rome", dya: 1 }, [
    defineTool({ ...about, input: z.object({ city: z.string() }) }),
  ]);
  expect(stripping.text).toBe('{"city":"Rome"}');
});
