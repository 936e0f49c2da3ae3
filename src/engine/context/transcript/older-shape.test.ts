/** Records of other programs' session files and what this program reads them as. */
import { describe, expect, test } from "vitest";
import { flatRecord, isRecord, type Raw } from "./older-shape.ts";

const place = { type: "message", id: "b", parentId: "a" };
const nested = (message: Raw, more: Raw = {}): Raw => flatRecord({ ...place, message, ...more }, 7);
const text = (words: string) => [{ type: "text", text: words }];

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ["x", false],
])("%j is a record: %s", (value, is) => {
  expect(isRecord(value)).toBe(is);
});

describe("the time of a record", () => {
  test.each<[string, Raw, number | undefined]>([
    ["is that of the message", { ...place, timestamp: 3, message: { role: "user", timestamp: 5 } }, 5],
    ["is that of the entry", { ...place, timestamp: 3, message: { role: "user" } }, 3],
    ["may be a text", { ...place, timestamp: "1970-01-01T00:00:00.009Z" }, 9],
    ["is that of the entry if the message's is unreadable", { ...place, timestamp: 3, message: { timestamp: "x" } }, 3],
    ["is that of the file if a message has none", { ...place, timestamp: "soon" }, 7],
    ["is absent if another record has none", { type: "label", id: "x" }, undefined],
  ])("%s", (_title, record, at) => {
    expect(flatRecord(record, 7).timestamp).toBe(at);
  });
});

describe("a message", () => {
  test("that is nested becomes flat, with its place and what stands beside it", () => {
    expect(nested({ role: "user", content: "hi", timestamp: 5 }, { extra: 1 })).toEqual({
      ...{ type: "message", id: "b", parentId: "a", role: "user", content: text("hi"), timestamp: 5, extra: 1 },
      stopReason: undefined,
    });
  });

  test.each<[unknown, string | undefined]>([
    ["toolUse", "tool_calls"],
    ["tool_use", "tool_calls"],
    ["stop", "stop"],
    ["length", "length"],
    ["aborted", "aborted"],
    ["error", "error"],
    ["other", undefined],
    [5, undefined],
    [undefined, undefined],
  ])("that stopped because of %j stopped because of %j", (stopReason, expected) => {
    expect(nested({ role: "assistant", content: [], stopReason }).stopReason).toBe(expected);
    expect(flatRecord({ ...place, role: "assistant", content: [], stopReason }, 7).stopReason).toBe(expected);
  });

  test("with the result of a tool is one of the role tool, nested or not", () => {
    const result = { role: "toolResult", toolCallId: "c", content: text("out") };
    expect(nested(result, { extra: 1 })).toMatchObject({
      ...{ type: "message", id: "b", role: "tool", toolCallId: "c", content: text("out"), extra: 1 },
    });
    expect(flatRecord({ ...place, ...result }, 7)).toMatchObject({ role: "tool", toolCallId: "c" });
  });

  test("of an unknown role stays as it is, with its time", () => {
    const message = { role: "robot", content: "x" };
    expect(nested(message)).toEqual({ ...place, message, timestamp: 7 });
  });
});

describe("a message of an extension", () => {
  const custom = (more: Raw): Raw => flatRecord({ ...place, type: "custom_message", content: "x", ...more }, 7);
  test.each<[Raw, true | undefined]>([
    [{}, undefined],
    [{ display: true }, undefined],
    [{ display: false }, true],
    [{ hidden: true, display: true }, true],
    [{ hidden: false, display: false }, undefined],
  ])("with %j is hidden: %s", (more, hidden) => {
    const read = custom(more);
    expect(read.hidden).toBe(hidden);
    expect(read).toMatchObject({ type: "custom_message", role: "user", content: text("x") });
    expect(read).not.toHaveProperty("display");
  });

  test.each(["custom", "hookMessage"])("that is nested as %s is one too", (role) => {
    expect(nested({ role, content: "x", display: false }, { extra: 1 })).toMatchObject({
      ...{ type: "custom_message", id: "b", parentId: "a", role: "user", content: text("x"), hidden: true, extra: 1 },
    });
  });
});

describe("a command that a person ran", () => {
  const ran = { role: "bashExecution", command: "ls", output: "a" };
  test("is shown with its output", () => {
    expect(nested(ran, { extra: 1 })).toMatchObject({
      ...{ type: "custom_message", id: "b", parentId: "a", role: "user", content: text("Ran `ls`\na"), extra: 1 },
    });
    expect(nested({ role: "bashExecution" })).toMatchObject({ content: text("Ran ``\n") });
    expect(nested({ ...ran, excludeFromContext: false }).type).toBe("custom_message");
  });
  test("is kept and not shown if it was excluded", () => {
    const message = { ...ran, excludeFromContext: true };
    const kept = nested(message, { extra: 1 });
    expect(kept).toMatchObject({ type: "custom", id: "b", parentId: "a", name: "bashExecution", data: message });
    expect(kept.extra).toBe(1);
    expect(kept).not.toHaveProperty("content");
  });
});

test.each<[Raw, Raw]>([
  [
    { customType: "n", data: 5 },
    { name: "n", data: 5 },
  ],
  [{ customType: "n" }, { name: "n", data: null }],
  [
    { customType: "n", name: "m" },
    { customType: "n", name: "m", data: null },
  ],
  [
    { name: "m", data: 1 },
    { name: "m", data: 1 },
  ],
])("the data %j of an extension are read as %j", (given, read) => {
  expect(flatRecord({ type: "custom", ...given }, 7)).toEqual({ type: "custom", ...read });
});
