import { describe, expect, test } from "vitest";
import type { EntryId } from "../ids.ts";
import { DEFAULT_CONTEXT_LIMITS, SMALL_WINDOW } from "./compaction-settings.ts";
import { documentBlock, documentOf, withoutDocument } from "./document-block.ts";
import { type Entry, entryLine, readEntry, TRANSCRIPT_VERSION } from "./entry.ts";

const LINES: Readonly<Record<string, object>> = {
  session: { type: "session", version: 2, id: "s", timestamp: "t" },
  start: { type: "start", id: "e", parentId: null, sessionId: "s", timestamp: 1 },
  reset: { type: "reset", id: "e", parentId: "d", sessionId: "s", timestamp: 1, message: "new" },
  message: {
    type: "message",
    id: "e",
    parentId: "d",
    role: "user",
    content: [{ type: "text", text: "hi" }],
    timestamp: 1,
  },
  custom_message: { type: "custom_message", id: "e", parentId: "d", role: "user", content: [], hidden: true },
  custom: { type: "custom", id: "e", parentId: "d", name: "n", data: { a: 1 } },
  compaction: { type: "compaction", id: "e", parentId: "d", summary: "", firstKeptEntryId: "c", tokensBefore: 1 },
  branch_summary: { type: "branch_summary", id: "e", parentId: "d", summary: "x" },
};

describe("a line of history", () => {
  test.each(Object.entries(LINES))("of type %s is read with every field it has, in its own order", (_type, line) => {
    const newer = { more: "of a newer version", ...line };
    const read = readEntry(JSON.stringify(newer));
    expect(read).toEqual({ kind: "entry", entry: newer });
    if (read.kind === "entry") expect(entryLine(read.entry)).toBe(JSON.stringify(newer));
  });

  test.each([
    ["{", "not JSON"],
    ["5", "not an object"],
    ["null", "not an object"],
    ["[]", "not an object"],
    ['"message"', "not an object"],
    ["{}", "no type"],
    ['{"type":5}', "no type"],
    [JSON.stringify({ ...LINES.message, content: "hi" }), "content"],
    [JSON.stringify({ ...LINES.message, id: "" }), "id"],
    [JSON.stringify({ ...LINES.message, runId: "" }), "runId"],
    [JSON.stringify({ ...LINES.message, role: "other" }), "role"],
    [JSON.stringify({ ...LINES.start, sessionId: "" }), "sessionId"],
    [JSON.stringify({ ...LINES.compaction, firstKeptEntryId: "" }), "firstKeptEntryId"],
  ])("%s is broken: %s", (line, why) => {
    const read = readEntry(line);
    expect(read).toEqual({ kind: "broken", reason: expect.stringContaining(why) });
    if (read.kind === "broken") expect(read.reason).not.toContain("\n");
  });

  test("with several mistakes names them in one line", () => {
    const read = readEntry(JSON.stringify({ ...LINES.message, id: "", content: "hi" }));
    expect(read).toEqual({ kind: "broken", reason: expect.stringMatching(/;/) });
  });

  test.each([
    [
      { type: "dream", id: "e", parentId: "d" },
      { id: "e", parentId: "d" },
    ],
    [
      { type: "dream", id: "e", parentId: null },
      { id: "e", parentId: null },
    ],
    [
      { type: "dream", id: 5, parentId: 5 },
      { id: undefined, parentId: undefined },
    ],
    [{ type: "dream" }, { id: undefined, parentId: undefined }],
  ])("of a type that a newer version has is kept in the chain: %j", (line, place) => {
    expect(readEntry(JSON.stringify(line))).toEqual({ kind: "unknown", type: "dream", ...place });
  });
});

describe("a block that stands for a document", () => {
  const document = { mimeType: "application/pdf", name: "a.pdf", data: "x", pages: 2, line: "[a.pdf]" };
  test("is the document to a model that takes it, and its text to others", () => {
    const block = documentBlock("text", document);
    expect(documentOf(block)).toEqual(document);
    expect(withoutDocument(block)).toEqual({ type: "text", text: "text" });
  });

  test("is not any other block", () => {
    const plain = { type: "text", text: "a", file: { id: "f" } } as const;
    const thoughts = { type: "thinking", thinking: "a", document } as const;
    expect(documentOf(plain)).toBeUndefined();
    expect(documentOf(thoughts)).toBeUndefined();
    expect(withoutDocument(plain)).toBe(plain);
    expect(withoutDocument(thoughts)).toBe(thoughts);
  });
});

test("contexts are compacted and notes are written unless a person turns it off", () => {
  const { memoryFlush, ...limits } = DEFAULT_CONTEXT_LIMITS;
  expect(limits).toEqual({
    ...{ enabled: true, contextWindow: 200_000, emergencyContextLimit: 200_000 },
    ...{ reserveTokens: 16_384, reserveTokensFloor: 20_000, keepRecentTokens: 20_000 },
  });
  expect(memoryFlush).toMatchObject({ enabled: true, softThresholdTokens: 4_000 });
  expect(SMALL_WINDOW).toBe(16_000);
});

test("a history is written in the second version of its form", () => {
  expect(TRANSCRIPT_VERSION).toBe(2);
});

test("an entry without a version is no line of a session", () => {
  expect(readEntry(JSON.stringify({ ...LINES.session, version: 1.5 })).kind).toBe("broken");
  expect((readEntry(JSON.stringify(LINES.start)) as { entry: Entry }).entry).toHaveProperty("id", "e" as EntryId);
});
