import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import { repairPairs } from "./context.ts";

const NO_RESULT = "No result was recorded for this call.";

const text = (words: string) => ({ type: "text" as const, text: words });
const user = (words = "hi"): ModelMessage => ({ role: "user", content: [text(words)] });
const asks = (...ids: string[]): ModelMessage => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "toolCall", id, name: "work", arguments: {} })),
});
const result = (id: string, words = `result of ${id}`): ModelMessage => ({
  role: "tool",
  content: [text(words)],
  toolCallId: id,
  toolName: "work",
  isError: false,
});
const words = (messages: readonly ModelMessage[]): string[] =>
  messages.map((message) =>
    message.content
      .map((block) => (block.type === "text" ? block.text : block.type === "toolCall" ? `${block.id}?` : ""))
      .join(),
  );

/** Messages in any order. Few ids, so that some are equal. */
const message = fc.oneof(
  fc.constant(user()),
  fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }).map((ids) => asks(...new Set(ids))),
  fc.constantFrom("a", "b", "c", "d").map((id) => result(id)),
);

/** Each call is followed at once by exactly one result, and there is no other result. */
function isPaired(messages: readonly ModelMessage[]): boolean {
  let open: string[] = [];
  for (const one of messages) {
    if (one.role === "tool") {
      if (!open.includes(one.toolCallId ?? "")) return false;
      open = open.filter((id) => id !== one.toolCallId);
    } else {
      if (open.length > 0) return false;
      open = one.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
    }
  }
  return open.length === 0;
}

describe("repairPairs", () => {
  it("makes every context acceptable: each call followed by its one result, and no result without its call", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        expect(isPaired(repairPairs(messages))).toBe(true);
      }),
      { numRuns: tries(500) },
    );
  });

  it("keeps everything that is not a result, in order", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const others = (all: readonly ModelMessage[]) => all.filter(({ role }) => role !== "tool");
        expect(others(repairPairs(messages))).toEqual(others(messages));
      }),
    );
  });

  it("returns the same array if nothing needs repair, so a second repair changes nothing", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const once = repairPairs(messages);
        expect(repairPairs(once)).toBe(once);
        if (isPaired(messages)) expect(once).toBe(messages);
      }),
    );
  });

  it("adds a result only if none was recorded, with a text that says so", () => {
    expect(words(repairPairs([user(), asks("a", "b"), result("b")]))).toEqual([
      "hi",
      "a?,b?",
      NO_RESULT,
      "result of b",
    ]);
  });

  it("gives each call its own result if a later turn uses the same id again", () => {
    const messages = [asks("x"), result("x", "first"), asks("x"), result("x", "second"), asks("y")];
    expect(words(repairPairs(messages))).toEqual(["x?", "first", "x?", "second", "y?", NO_RESULT]);
  });

  it("never gives a call a result from before the call", () => {
    expect(words(repairPairs([result("x", "of a call that was cut away"), asks("x"), user()]))).toEqual([
      "x?",
      NO_RESULT,
      "hi",
    ]);
  });

  it("answers only the calls of an assistant: what looks like one in another message is no call", () => {
    const quoted = { ...asks("q"), role: "user" } as ModelMessage;
    const shown = { ...result("a"), content: [...result("a").content, ...asks("b").content] } as ModelMessage;
    const paired = [quoted, asks("a"), shown, user()];
    expect(repairPairs(paired)).toBe(paired);
    // The result of `b` is found behind the one of `a`, and nothing is added for `q`.
    expect(repairPairs([quoted, asks("b", "a"), shown, user(), result("b")])).toEqual([
      ...[quoted, asks("b", "a"), result("b"), shown, user()],
    ]);
  });

  it("gives two calls of one turn with the same id a result each", () => {
    expect(words(repairPairs([asks("x", "x"), result("x", "one"), user(), result("x", "two")]))).toEqual([
      "x?,x?",
      "one",
      "two",
      "hi",
    ]);
  });
});
