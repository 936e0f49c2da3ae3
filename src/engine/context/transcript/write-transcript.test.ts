import { describe, expect, it } from "vitest";
import { type Entry, readEntry } from "../../../core/history/entry.ts";
import type { EntryId } from "../../../core/ids.ts";
import { contextOf } from "../context.ts";
import { readTranscript } from "./read-transcript.ts";
import { agentId, history, ISO, sessionId } from "./transcript.test-kit.ts";
import { pathTo } from "./tree.ts";
import { transcriptFileName, writeTranscript } from "./write-transcript.ts";

describe("writing a session file", () => {
  const { lines, ids, second } = history();
  const leaf = ids[6] as EntryId;

  it.each([2, 3] as const)("writes version %i, which reads back to the same context", (version) => {
    const session = { agentId, sessionId: second, lines: lines.slice(3), leaf, cwd: "/ws" };
    const { text: written, skipped } = writeTranscript({ ...session, parentSession: sessionId }, version);
    expect(skipped).toEqual([]);
    expect(written.endsWith("\n")).toBe(true);
    expect(JSON.parse(written.split("\n")[0] ?? "")).toEqual({
      ...{ type: "session", version, id: second, timestamp: ISO, cwd: "/ws", parentSession: sessionId },
    });
    const read = readTranscript(written);
    expect(read.problems).toEqual([]);
    expect(read.leaf).toBe(leaf);
    const entries = (from: readonly { entry?: Entry }[]): Entry[] => from.flatMap(({ entry }) => entry ?? []);
    const before = contextOf(
      agentId,
      lines.slice(3).flatMap((line) => {
        const one = readEntry(line);
        return one.kind === "entry" ? [one.entry] : [];
      }),
    ).messages;
    const after = contextOf(agentId, entries(pathTo(read.entries, read.leaf))).messages;
    const words = (messages: typeof before) => messages.map(({ role, content }) => ({ role, content }));
    expect(words(after)).toEqual(words(before));
    expect(read.entries.map(({ raw }) => raw.type)).toEqual(["custom_message", "message", "label", "message"]);
    // Version 3 puts the words of a message below `message`, version 2 beside its id.
    const [, spoken] = read.entries;
    expect([typeof spoken?.raw.message, typeof spoken?.raw.role]).toEqual(
      version === 3 ? ["object", "undefined"] : ["undefined", "string"],
    );
  });

  it.each([2, 3] as const)("points to the tip if it is not the last line (version %i)", (version) => {
    const back = ids[4] as EntryId;
    const { text: written } = writeTranscript(
      { agentId, sessionId: second, lines: lines.slice(3), leaf: back },
      version,
    );
    const read = readTranscript(written);
    const path = pathTo(read.entries, read.leaf).map(({ id }) => id);
    expect(path.at(-2)).toBe(back);
    expect(read.entries.at(-1)?.entry).toMatchObject({ type: "custom", name: "tip", data: { leaf: back } });
  });

  it("writes an empty session as its header alone", () => {
    const empty = { agentId, sessionId, lines: lines.slice(1, 2), leaf: ids[1] as EntryId };
    const { text: written } = writeTranscript(empty, 2);
    expect(readTranscript(written)).toMatchObject({ entries: [], leaf: null, header: { id: sessionId } });
  });

  it("reports a line that it cannot write", () => {
    const broken = { agentId, sessionId, lines: [...lines.slice(1, 3), "{oops"], leaf: ids[2] as EntryId };
    const { skipped } = writeTranscript(broken, 2);
    expect(skipped).toEqual([{ line: 3, reason: expect.stringMatching(/^not JSON/) }]);
  });

  it.each([
    ["s1", undefined, "s1.jsonl"],
    ["s1", 789, "s1-topic-789.jsonl"],
    ["s1", "T.5", "s1-topic-T.5.jsonl"],
    ["s1", "../x", "s1-topic-..%2Fx.jsonl"],
    ["../s", undefined, "..%2Fs.jsonl"],
  ])("names the file of %s, thread %s: %s", (id, thread, name) => {
    expect(transcriptFileName(id, thread)).toBe(name);
  });
});
