import { describe, expect, it } from "vitest";
import { readEntry } from "../../../core/history/entry.ts";
import { nestedRecord } from "./nested-shape.ts";
import { flatRecord, type Raw } from "./older-shape.ts";
import { AT, ISO, text } from "./transcript.test-kit.ts";

const usage = {
  ...{ input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

describe("the two shapes of an entry", () => {
  const place = { id: "b", parentId: "a" };
  const call = [{ type: "toolCall", id: "t1", name: "read", arguments: { path: "x" } }];
  const said = { api: "anthropic", provider: "anthropic", model: "m", usage };
  /** Each row holds in both directions: the flat form and the nested one. */
  const table: readonly [string, Raw, Raw][] = [
    [
      "a person's message",
      { type: "message", ...place, role: "user", content: text("hi"), timestamp: AT },
      { type: "message", ...place, timestamp: ISO, message: { role: "user", content: text("hi"), timestamp: AT } },
    ],
    [
      "an assistant's message, its calls and its stop reason",
      { type: "message", ...place, role: "assistant", content: call, ...said, stopReason: "tool_calls", timestamp: AT },
      {
        type: "message",
        ...place,
        timestamp: ISO,
        message: { role: "assistant", content: call, ...said, stopReason: "toolUse", timestamp: AT },
      },
    ],
    [
      "a tool's result",
      {
        type: "message",
        ...place,
        role: "tool",
        content: text("x"),
        toolCallId: "t1",
        toolName: "read",
        isError: true,
        timestamp: AT,
      },
      {
        type: "message",
        ...place,
        timestamp: ISO,
        message: {
          role: "toolResult",
          content: text("x"),
          toolCallId: "t1",
          toolName: "read",
          isError: true,
          timestamp: AT,
        },
      },
    ],
    [
      "a hidden message of an extension",
      {
        type: "custom_message",
        ...place,
        role: "user",
        content: text("psst"),
        hidden: true,
        customType: "ext",
        timestamp: AT,
      },
      { type: "custom_message", ...place, timestamp: ISO, content: text("psst"), display: false, customType: "ext" },
    ],
    [
      "an extension's state",
      { type: "custom", ...place, name: "ext", data: { n: 1 }, timestamp: AT },
      { type: "custom", ...place, timestamp: ISO, customType: "ext", data: { n: 1 } },
    ],
    [
      "a compaction",
      {
        type: "compaction",
        ...place,
        summary: "s",
        firstKeptEntryId: "a",
        tokensBefore: 9,
        details: { d: 1 },
        timestamp: AT,
      },
      {
        type: "compaction",
        ...place,
        timestamp: ISO,
        summary: "s",
        firstKeptEntryId: "a",
        tokensBefore: 9,
        details: { d: 1 },
      },
    ],
    [
      "a branch's summary",
      { type: "branch_summary", ...place, summary: "s", fromId: "z", timestamp: AT },
      { type: "branch_summary", ...place, timestamp: ISO, summary: "s", fromId: "z" },
    ],
  ];
  it.each(table)("%s", (_, flat, nested) => {
    expect(flatRecord(nested, 0)).toEqual(flat);
    expect(flatRecord(flat, 0)).toEqual(flat);
    const read = readEntry(JSON.stringify(flat));
    expect(read.kind).toBe("entry");
    if (read.kind !== "entry") return;
    expect(nestedRecord(read.entry as Parameters<typeof nestedRecord>[0], 0)).toEqual(nested);
  });

  const oneWay: readonly [string, Raw, Raw][] = [
    [
      "content as a text",
      { type: "message", ...place, message: { role: "user", content: "hi", timestamp: AT } },
      { type: "message", ...place, role: "user", content: text("hi"), timestamp: AT },
    ],
    [
      "the entry's time if the message has none",
      { type: "message", ...place, timestamp: ISO, message: { role: "user", content: "hi" } },
      { type: "message", ...place, role: "user", content: text("hi"), timestamp: AT },
    ],
    [
      "the file's time if neither has one",
      { type: "message", ...place, message: { role: "user", content: "hi" } },
      { type: "message", ...place, role: "user", content: text("hi"), timestamp: 5 },
    ],
    [
      "a hook's message (version 2)",
      {
        type: "message",
        ...place,
        message: { role: "hookMessage", customType: "h", content: "x", display: true, timestamp: AT },
      },
      { type: "custom_message", ...place, role: "user", customType: "h", content: text("x"), timestamp: AT },
    ],
    [
      "a command a person ran",
      { type: "message", ...place, message: { role: "bashExecution", command: "ls", output: "a", timestamp: AT } },
      {
        type: "custom_message",
        ...place,
        role: "user",
        content: text("Ran `ls`\na"),
        timestamp: AT,
        details: { role: "bashExecution", command: "ls", output: "a", timestamp: AT },
      },
    ],
    [
      "an unknown stop reason",
      { type: "message", ...place, message: { role: "assistant", content: [], stopReason: "tired", timestamp: AT } },
      { type: "message", ...place, role: "assistant", content: [], timestamp: AT },
    ],
  ];
  it.each(oneWay)("reads %s", (_, nested, flat) => {
    expect(flatRecord(nested, 5)).toEqual(flat);
  });
});

describe("the nested form of a message", () => {
  const place = { type: "message", id: "b", parentId: "a", content: text("x"), timestamp: AT };
  const nestedOf = (more: Raw): unknown => nestedRecord({ ...place, ...more } as never, 0).message;

  it.each([
    ["tool_calls", "toolUse"],
    ["stop", "stop"],
    ["length", "length"],
    ["error", "error"],
    ["aborted", "aborted"],
    [undefined, "stop"],
  ])("has for the stop reason %s that of version 3: %s", (stopReason, stop) => {
    expect(nestedOf({ role: "assistant", stopReason })).toMatchObject({ stopReason: stop });
  });

  it("has every field that readers of version 3 need, also if the entry has none of them", () => {
    const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    expect(nestedOf({ role: "assistant" })).toEqual({
      ...{ role: "assistant", content: text("x"), timestamp: AT, api: "", provider: "", model: "", stopReason: "stop" },
      usage: { ...nothing, totalTokens: 0, cost: { ...nothing, total: 0 } },
    });
    expect(nestedOf({ role: "tool" })).toEqual({
      ...{ role: "toolResult", content: text("x"), timestamp: AT, toolCallId: "", toolName: "", isError: false },
    });
  });
});
