/** Whether a compaction is worth it, and what measures without a model leave behind. */
import { describe, expect, test } from "vitest";
import type { Block, Entry } from "../../../core/history/entry.ts";
import type { AgentId } from "../../../core/ids.ts";
import { type CompactionInput, makesProgress, measureProposal } from "./make-compaction.ts";

const AGENT = "a".repeat(24) as AgentId;

test.each<[string, number, number, number, number | undefined, number | undefined, boolean]>([
  ["a tenth less", 100, 90, 0, undefined, undefined, true],
  ["not quite a tenth", 100, 91, 0, undefined, undefined, false],
  ["a little, and now it can be sent", 100, 99, 200, 199, 200, true],
  ["a little, and it could be sent before", 100, 99, 199, 198, 200, false],
  ["a little, and it still cannot be sent", 100, 99, 201, 200, 200, false],
  ["a little, and its size is not known", 100, 99, 200, undefined, 200, false],
  ["nothing, though the count says so", 100, 100, 200, 199, 200, false],
])("%s is progress", (_title, before, after, tokensBefore, tokensAfter, limit, is) => {
  expect(makesProgress({ before, after, entry: { tokensBefore, details: { tokensAfter } } } as never, limit)).toBe(is);
});

describe("a measure", () => {
  let count = 0;
  const entry = (more: object): Entry =>
    ({ id: `e${++count}`, parentId: null, timestamp: 1, ...more }) as unknown as Entry;
  const text = (words: string): Block => ({ type: "text", text: words });
  const image: Block = { type: "image", data: "A".repeat(100), mimeType: "image/png" };
  const said = (role: string, content: Block[], more: object = {}) =>
    entry({ type: "message", role, content, ...more });
  const call: Block = { type: "toolCall", id: "c", name: "read", arguments: {} };
  const turn = (...output: Block[]) => [
    said("user", [text("go")]),
    said("assistant", [call]),
    said("tool", output, { toolCallId: "c" }),
    said("assistant", [text("done")]),
  ];
  const input = (path: readonly Entry[]): CompactionInput => ({
    agentId: AGENT,
    path,
    tokens: 2_000,
    overhead: 10,
    at: 5,
    reason: "critical",
  });
  const details = (made: ReturnType<typeof measureProposal>) =>
    made?.entry.details as { measures: object[]; kind: string };

  test("cuts long outputs and says so once, or leaves images out", () => {
    const path = [entry({ type: "start", sessionId: "s" }), ...turn(text("o".repeat(6_000)), image)];
    const cut = measureProposal(input(path), "truncate");
    expect(details(cut)).toMatchObject({
      kind: "truncate",
      measures: [{ kind: "truncate", chars: 2_000, through: path.at(-1)?.id }],
    });
    expect(cut?.entry.summary).toContain("[Long tool outputs up to entry 5 of this session's context");
    expect(cut?.entry.firstKeptEntryId).toBe(path[1]?.id);
    expect(cut?.after).toBeLessThan(cut?.before ?? 0);
    const without = measureProposal(input(path), "images");
    expect(without?.entry.summary).toContain("[Images up to entry 5");
    expect(details(without).measures).toMatchObject([{ kind: "images" }]);
  });
  test("that changes nothing is none", () => {
    const path = [entry({ type: "start", sessionId: "s" }), ...turn(text("short"))];
    expect(measureProposal(input(path), "truncate")).toBeUndefined();
    expect(measureProposal(input(path), "images")).toBeUndefined();
    expect(measureProposal(input([entry({ type: "start", sessionId: "s" })]), "images")).toBeUndefined();
  });
  test("keeps measures of the other kind, and those of its own that are stricter", () => {
    const first = turn(text("o".repeat(6_000)));
    const earlier = (measures: object[]) =>
      entry({
        type: "compaction",
        summary: "before",
        firstKeptEntryId: first[0]?.id,
        tokensBefore: 1,
        details: { measures },
      });
    const through = first[3]?.id;
    const next = (measures: object[]) =>
      details(
        measureProposal(input([...first, earlier(measures), ...turn(text("p".repeat(9_000)), image)]), "truncate"),
      ).measures.map((one) => [(one as { kind: string }).kind, (one as { chars?: number }).chars]);
    expect(next([{ kind: "images", through }])).toEqual([
      ["images", undefined],
      ["truncate", 2_000],
    ]);
    expect(next([{ kind: "truncate", chars: 100, through }])).toEqual([
      ["truncate", 100],
      ["truncate", 2_000],
    ]);
    expect(next([{ kind: "truncate", chars: 2_000, through }])).toEqual([["truncate", 2_000]]);
  });
  test("cuts shorter if the last turn alone is larger than the target", () => {
    const path = [...turn(...Array.from({ length: 4 }, () => text("o".repeat(6_000))))];
    const chars = (target: number) =>
      (details(measureProposal({ ...input(path), tokens: 6_010 }, "truncate", target)).measures[0] as { chars: number })
        .chars;
    expect(chars(Number.POSITIVE_INFINITY)).toBe(2_000);
    expect(chars(5)).toBe(100);
  });
});
