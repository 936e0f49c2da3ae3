import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import type { Entry } from "../../../core/history/entry.ts";
import type { SessionId } from "../../../core/ids.ts";
import { AGENT, MadeHistory, turnShape } from "../compaction/histories.test-kit.ts";
import { pruneProposal } from "../compaction/make-compaction.ts";
import { contextOf } from "../context.ts";
import { archiveTranscript, backupName } from "./archive-transcript.ts";
import { readTranscript } from "./read-transcript.ts";
import { pathTo } from "./tree.ts";
import { writeTranscript } from "./write-transcript.ts";

function compacted(shapes: readonly Parameters<MadeHistory["turn"]>[0][], keep: number): MadeHistory {
  const history = new MadeHistory();
  for (const shape of shapes) history.turn(shape);
  const { size } = contextOf(AGENT, history.path);
  const input = {
    agentId: AGENT,
    path: history.path,
    tokens: size.all,
    overhead: 0,
    at: 9,
    reason: "manual",
  } as const;
  const made = pruneProposal(input, keep);
  if (made) history.append([made.entry]);
  if (shapes[0]) history.turn(shapes[0]);
  return history;
}

const fileOf = ({ lines, leaf }: MadeHistory, version: 2 | 3): string =>
  writeTranscript({ agentId: AGENT, sessionId: "s1" as SessionId, lines, leaf }, version).text;

/** The messages a reader of the file would send. */
const contextIn = (text: string): string => {
  const { entries, leaf } = readTranscript(text);
  const path = pathTo(entries, leaf).flatMap(({ entry }): Entry[] => (entry ? [entry] : []));
  return JSON.stringify(contextOf(AGENT, path).messages);
};

describe("a session file that is archived", () => {
  it("keeps its header, the compaction and all kept entries, builds the same context, and has every parent", () => {
    const shapes = fc.array(turnShape, { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(
        shapes,
        fc.integer({ min: 50, max: 2_000 }),
        fc.constantFrom(2 as const, 3 as const),
        (all, keep, version) => {
          const whole = fileOf(compacted(all, keep), version);
          const archived = archiveTranscript(whole);
          if ("refused" in archived) return;
          const { header, problems, skipped, entries } = readTranscript(archived.text);
          expect(header).toEqual(readTranscript(whole).header);
          expect(problems).toEqual([]);
          expect(skipped).toEqual(readTranscript(archived.text).skipped);
          expect(archived.left).toBe(readTranscript(whole).entries.length - entries.length);
          expect(archived.left).toBeGreaterThan(0);
          expect(contextIn(archived.text)).toBe(contextIn(whole));
          // Archiving again leaves nothing out.
          expect(archiveTranscript(archived.text)).toHaveProperty("refused");
        },
      ),
      { numRuns: tries(60) },
    );
  });

  const line = (record: object): string => `${JSON.stringify(record)}\n`;
  const header = line({ type: "session", version: 2, id: "s", timestamp: "2026-01-05T09:00:00.000Z" });
  const said = (id: string, parentId: string | null): string =>
    line({ type: "message", id, parentId, role: "user", content: [{ type: "text", text: id }], timestamp: 1 });
  const compaction = (id: string, parentId: string, firstKeptEntryId: string): string =>
    line({ type: "compaction", id, parentId, summary: "s", firstKeptEntryId, tokensBefore: 9, timestamp: 2 });
  const idsIn = (text: string): readonly unknown[] =>
    readTranscript(text).entries.map(({ id, parentId }) => [id, parentId]);

  it("leaves out what lies before the first kept entry, with its branches, and keeps those behind it", () => {
    const text = [
      said("a", null),
      said("x", "a"),
      said("b", "a"),
      said("y", "b"),
      compaction("k", "b", "b"),
      said("c", "k"),
    ];
    const archived = archiveTranscript(header + text.join(""));
    if ("refused" in archived) throw new TypeError(archived.refused);
    expect(archived.left).toBe(2);
    expect(archived.text.startsWith(header)).toBe(true);
    expect(idsIn(archived.text)).toEqual([
      ["b", null],
      ["y", "b"],
      ["k", "b"],
      ["c", "k"],
    ]);
  });

  it("is cut at its last compaction, and not at all if that keeps everything", () => {
    const twice = [said("a", null), compaction("k", "a", "a"), said("b", "k"), compaction("l", "b", "b")];
    const archived = archiveTranscript(header + twice.join(""));
    expect("text" in archived && idsIn(archived.text)).toEqual([
      ["b", null],
      ["l", "b"],
    ]);
    expect(archiveTranscript(header + twice.slice(0, 2).join(""))).toEqual({
      refused: "Everything in this session is kept by its last compaction.",
    });
  });

  it("stays unchanged if nothing was compacted, or if it is not a session file", () => {
    const history = new MadeHistory();
    expect(archiveTranscript(fileOf(history, 2))).toEqual({ refused: "Nothing was compacted in this session yet." });
    expect(archiveTranscript("hello\n")).toMatchObject({ refused: expect.stringContaining("not a session file") });
  });
});

it("the copy of an archived session file is never overwritten", () => {
  expect([1, 2, 3].map((n) => backupName("s.jsonl", n))).toEqual(["s.jsonl.bak", "s.jsonl.bak.2", "s.jsonl.bak.3"]);
});
