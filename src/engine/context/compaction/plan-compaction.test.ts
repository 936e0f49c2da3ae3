import { describe, expect, test } from "vitest";
import type { Entry } from "../../../core/history/entry.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import { assistant, calling, compaction, entry, result, user } from "./entries.test-kit.ts";
import { baseOf, currentEntries, planCompaction, sizedEntries } from "./plan-compaction.ts";

const AGENT = "a".repeat(24) as AgentId;

describe("a plan", () => {
  test("begins where the compaction before began to keep, and knows what it builds upon", () => {
    const [a, b, c] = [user("a"), user("b"), user("c")];
    const marker = entry({ type: "reset", sessionId: "s" });
    const last = compaction(b, { measures: [] });
    expect(currentEntries([marker, a, b, last, c])).toEqual({ entries: [b, c], previous: last });
    expect(currentEntries([a, compaction(undefined), c]).entries).toEqual([c]);
    expect(currentEntries([a, b])).toEqual({ entries: [a, b], previous: undefined });
    expect(baseOf([marker, a, last, c])).toEqual({ marker: marker.id, compaction: last.id });
    expect(baseOf([a])).toEqual({ marker: undefined, compaction: undefined });
  });

  test("is refused if nothing has come since, or nothing lies before the cut", () => {
    expect(planCompaction(AGENT, [user(), compaction(undefined)], 10)).toEqual({ refused: "Already compacted." });
    expect(planCompaction(AGENT, [user()], 10)).toEqual({ refused: "Nothing to compact." });
  });

  test("covers what lies before the cut, keeps the rest, and carries the measures that reach into it", () => {
    const [a, b, c, d] = [user("a".repeat(400)), assistant("b"), user("c"), assistant("d")];
    const measures = [
      { kind: "images", through: a.id },
      { kind: "images", through: c.id },
    ];
    const before = compaction(a, { measures }, "sum");
    const planned = planCompaction(AGENT, [a, b, c, before, d], 5);
    if (!("plan" in planned)) throw new TypeError("no plan");
    expect(planned.plan).toMatchObject({
      ...{ history: [a, b], prefix: [], firstKeptEntryId: c.id },
      covered: { from: a.id, through: b.id, messages: 2 },
      measures: [measures[1]],
      previous: { summary: "sum" },
      base: { compaction: before.id },
      request: undefined,
    });
  });

  test("of a turn that is cut in two has its beginning and its request", () => {
    const turn = (more: object = {}) => [
      ...[
        user("old"),
        assistant("old"),
        user("do this", more),
        assistant("x".repeat(400), more),
        assistant("end", more),
      ],
    ];
    const plan = (path: Entry[], keep = 5) => {
      const planned = planCompaction(AGENT, path, keep);
      if (!("plan" in planned)) throw new TypeError("no plan");
      return planned.plan;
    };
    const path = turn();
    expect(plan(path)).toMatchObject({
      ...{ history: path.slice(0, 2), prefix: path.slice(2, 4), firstKeptEntryId: path[4]?.id },
      request: { texts: ["do this"] },
    });
    const ofRun = turn({ runId: "r" });
    expect(plan(ofRun).request).toEqual({ texts: ["do this"], runId: "r" });
    // What steered it later counts as much, and so does what was carried before of the same run.
    const steered = [
      ...turn({ runId: "r" }).slice(2, 4),
      user("and that", { runId: "r" }),
      assistant("x".repeat(99), { runId: "r" }),
      assistant("e", { runId: "r" }),
    ];
    expect(plan(steered).request?.texts).toEqual(["do this", "and that"]);
    const carried = (requestRunId?: string) =>
      plan([assistant("k", { runId: "r" }), compaction(undefined, { request: ["first"], requestRunId }), ...steered])
        .request?.texts;
    expect(carried("r")).toEqual(["first", "do this", "and that"]);
    expect(carried("q")).toEqual(["do this", "and that"]);
    expect(plan([user("  "), assistant("x".repeat(400)), assistant("e")]).request).toBeUndefined();
  });

  test("cuts a long request, at least eighty characters of each, at most forty", () => {
    const run = { runId: "r" as RunId };
    const asked = (count: number, size: number) =>
      Array.from({ length: count }, (_, n) => user(`${n}:${"w".repeat(size)}`, run));
    const texts = (count: number, size: number, keep: number) => {
      const planned = planCompaction(
        AGENT,
        [...asked(count, size), assistant("x".repeat(4 * keep + 8), run), assistant("e", run)],
        keep,
      );
      return "plan" in planned ? (planned.plan.request?.texts ?? []) : [];
    };
    expect(texts(1, 50, 5)).toEqual([`0:${"w".repeat(50)}`]);
    const left = (one: string | undefined) => (one ?? "").replace(/\n\[…[^\]]*\]\n/u, "").length;
    expect(left(texts(1, 200, 5)[0])).toBe(80);
    expect(left(texts(1, 900, 200)[0])).toBe(400);
    expect(left(texts(1, 9_000, 4_000)[0])).toBe(4_000);
    expect(left(texts(2, 900, 200)[0])).toBe(200);
    const many = texts(41, 5, 5);
    expect([many.length, many[0]]).toEqual([40, "1:wwwww"]);
  });

  test("counts entries as they are sent, with the measures before", () => {
    const out = result("a", "o".repeat(4_000));
    const path = [user(), calling("a"), out];
    const plain = sizedEntries(AGENT, path).map(({ tokens }) => tokens);
    const cut = sizedEntries(AGENT, [
      ...path,
      compaction(path[0], { measures: [{ kind: "truncate", chars: 100, through: out.id }] }),
    ]);
    expect(plain[2]).toBe(1_000);
    expect(cut[2]?.tokens).toBeLessThan(50);
    expect(cut.map(({ tokens }) => tokens).slice(0, 2)).toEqual(plain.slice(0, 2));
  });
});
