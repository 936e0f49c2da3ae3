import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { ModelMessage } from "../../core/ports/model.ts";
import { alternateRoles, isRoleOrderError } from "./alternate-roles.ts";

const says = (role: "user" | "assistant", text: string): ModelMessage => ({ role, content: [{ type: "text", text }] });

describe("alternateRoles", () => {
  it("joins neighbours of one role and puts a person first", () => {
    const messages = [
      says("assistant", "a"),
      says("user", "b"),
      says("user", "c"),
      says("assistant", "d"),
      says("assistant", "e"),
    ];
    expect(alternateRoles(messages).map(({ role, content }) => [role, content.length])).toEqual([
      ["user", 1],
      ["assistant", 1],
      ["user", 2],
      ["assistant", 2],
    ]);
  });

  it("loses no text", () => {
    const message = fc
      .tuple(fc.constantFrom("user" as const, "assistant" as const), fc.string())
      .map(([role, text]) => says(role, text));
    fc.assert(
      fc.property(fc.array(message), (messages) => {
        const joined = alternateRoles(messages);
        const words = (all: readonly ModelMessage[]) => all.flatMap(({ content }) => content);
        expect(words(joined).slice(-words(messages).length || undefined)).toEqual(
          words(messages).length === 0 ? words(joined) : words(messages),
        );
        for (const [i, one] of joined.entries()) expect(one.role).toBe(i % 2 === 0 ? "user" : "assistant");
      }),
    );
  });

  it("leaves a call and its result unchanged", () => {
    const call: ModelMessage = {
      role: "assistant",
      content: [{ type: "toolCall", id: "1", name: "x", arguments: {} }],
    };
    const result: ModelMessage = { role: "tool", content: [{ type: "text", text: "r" }], toolCallId: "1" };
    const messages = [says("user", "a"), call, result, says("assistant", "b")];
    expect(alternateRoles(messages)).toEqual(messages);
  });
});

test.each([
  [{ class: "request", message: 'messages: roles must alternate between "user" and "assistant"' }, true],
  [{ class: "request", message: "Incorrect role information" }, true],
  [{ class: "transient", message: "roles must alternate" }, false],
  [{ class: "request", message: "model not found" }, false],
])("%j is about the order of roles: %s", (error, is) => {
  expect(isRoleOrderError(error)).toBe(is);
});
