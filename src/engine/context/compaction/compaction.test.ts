import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import type { Entry } from "../../../core/history/entry.ts";
import { contextOf, modelMessage, repairPairs } from "../context.ts";
import { type CompactionEntry, compactionDetails } from "./compaction-details.ts";
import { estimateMessages, tokensIn } from "./estimate-tokens.ts";
import { AGENT, MadeHistory, type TurnShape, turnShape } from "./histories.test-kit.ts";
import {
  type CompactionInput,
  type CompactionProposal,
  keepOf,
  makesProgress,
  measureProposal,
  pruneProposal,
  summaryProposal,
} from "./make-compaction.ts";
import { planCompaction } from "./plan-compaction.ts";

type Act = {
  readonly turns: readonly TurnShape[];
  readonly kind: CompactionProposal["entry"]["details"]["kind"];
  readonly keep: number;
};

const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.record({
    turns: fc.array(turnShape, { minLength: 1, maxLength: 5 }),
    kind: fc.constantFrom("summary", "summary", "summary", "truncate", "images", "prune"),
    keep: fc.integer({ min: 1, max: 5_000 }),
  }),
  { minLength: 1, maxLength: 5 },
);

const SUMMARY = { history: "## Goal\nx\n## Progress\ny", provider: "p", model: "m" };

function inputOf(history: MadeHistory): CompactionInput {
  const { size } = contextOf(AGENT, history.path);
  return { agentId: AGENT, path: history.path, tokens: tokensIn(size, 0), overhead: 0, at: 9, reason: "critical" };
}

function proposalFor(history: MadeHistory, { kind, keep }: Pick<Act, "kind" | "keep">): CompactionProposal | undefined {
  const input = inputOf(history);
  if (kind === "truncate" || kind === "images") return measureProposal(input, kind);
  if (kind === "prune") return pruneProposal(input, keep);
  const planned = planCompaction(AGENT, history.path, keepOf(input, keep));
  if ("refused" in planned) return undefined;
  const { plan } = planned;
  return summaryProposal(input, plan, {
    ...SUMMARY,
    ...(plan.prefix.length > 0 ? { prefix: "## Original Request\nz" } : {}),
  });
}

/** Performs the acts, and returns every compaction that was appended. */
function live(
  history: MadeHistory,
  all: readonly Act[],
  check: (made: CompactionProposal) => void = () => {},
): CompactionEntry[] {
  const appended: CompactionEntry[] = [];
  for (const act of all) {
    for (const turn of act.turns) history.turn(turn);
    const made = proposalFor(history, act);
    if (!made || !makesProgress(made)) continue;
    check(made);
    appended.push(history.append([made.entry])[0] as CompactionEntry);
  }
  return appended;
}

const idsOf = (entries: readonly Entry[]): readonly string[] => entries.map((entry) => entry.id);
const speaks = (entry: Entry): boolean => modelMessage(AGENT, entry).length > 0;

describe("after any number of compactions", () => {
  it("every call has its result, and no result is without its call", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const history = new MadeHistory();
        live(history, all, () => {
          const { messages } = contextOf(AGENT, history.path);
          expect(repairPairs(messages)).toBe(messages);
        });
        const { messages } = contextOf(AGENT, history.path);
        expect(repairPairs(messages)).toBe(messages);
      }),
      { numRuns: tries(80) },
    );
  });

  it("every entry is covered by exactly one compaction, or is still in the context", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const history = new MadeHistory();
        const appended = live(history, all);
        const ids = idsOf(history.path);
        const covered = new Map<string, number>();
        for (const entry of appended) {
          const range = compactionDetails(entry).covered;
          if (!range) continue;
          const from = ids.indexOf(range.from);
          const through = ids.indexOf(range.through);
          expect(from).toBeGreaterThanOrEqual(0);
          expect(through).toBeGreaterThanOrEqual(from);
          for (const id of ids.slice(from, through + 1)) covered.set(id, (covered.get(id) ?? 0) + 1);
        }
        const last = appended.at(-1);
        const kept = new Set(last ? ids.slice(ids.indexOf(last.firstKeptEntryId)) : ids);
        for (const entry of history.path.filter(speaks)) {
          const times = (covered.get(entry.id) ?? 0) + (kept.has(entry.id) ? 1 : 0);
          expect(times, `${entry.id} of ${ids.length}`).toBe(1);
        }
      }),
      { numRuns: tries(80) },
    );
  });

  it("each one has made the context smaller by the stated share", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const history = new MadeHistory();
        live(history, all, (made) => {
          const before = estimateMessages(contextOf(AGENT, history.path).messages);
          const after = estimateMessages(
            contextOf(AGENT, [...history.path, { ...made.entry, id: "x", parentId: null } as never]).messages,
          );
          expect(after).toBe(made.after);
          expect(after).toBeLessThanOrEqual(0.9 * before);
          expect(made.entry.details.tokensAfter).toBeLessThan(made.entry.tokensBefore);
        });
      }),
      { numRuns: tries(60) },
    );
  });

  it("the same history builds the same context, in this process and after a restart", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const history = new MadeHistory();
        live(history, all);
        const here = contextOf(AGENT, history.path);
        const there = contextOf(AGENT, history.reread());
        expect(JSON.stringify(there)).toBe(JSON.stringify(here));
      }),
      { numRuns: tries(60) },
    );
  });

  it("the request of the turn in progress and every marked identifier are in the context", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const history = new MadeHistory();
        live(history, all);
        const text = JSON.stringify(contextOf(AGENT, history.path).messages);
        const turns = all.reduce((sum, { turns: some }) => sum + some.length, 0);
        for (let n = 1; n <= turns; n++) expect(text).toContain(`FACT-${n}`);
        expect(text).toContain(`request ${turns} `);
      }),
      { numRuns: tries(60) },
    );
  });

  it("no line of history is changed or lost", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const history = new MadeHistory();
        for (const act of all) {
          for (const turn of act.turns) history.turn(turn);
          const lines = [...history.lines];
          const made = proposalFor(history, act);
          if (made) history.append([made.entry]);
          expect(history.lines.slice(0, lines.length)).toEqual(lines);
        }
      }),
      { numRuns: tries(50) },
    );
  });
});

const turn = (more: Partial<TurnShape> = {}): TurnShape => ({
  ...{ words: 100, image: false, rounds: [], steered: false, quiet: false, branch: false, usage: false },
  ...more,
});

describe("a second compaction", () => {
  it("begins at the first entry that the first one kept", () => {
    const history = new MadeHistory();
    for (let n = 0; n < 6; n++) history.turn(turn());
    const first = history.append([
      (proposalFor(history, { kind: "summary", keep: 300 }) as CompactionProposal).entry,
    ])[0];
    for (let n = 0; n < 6; n++) history.turn(turn());
    const second = proposalFor(history, { kind: "summary", keep: 300 }) as CompactionProposal;
    expect(second.entry.details.covered?.from).toBe((first as CompactionEntry).firstKeptEntryId);
  });

  it("directly after the first is refused", () => {
    const history = new MadeHistory();
    for (let n = 0; n < 6; n++) history.turn(turn());
    history.append([(proposalFor(history, { kind: "summary", keep: 300 }) as CompactionProposal).entry]);
    expect(planCompaction(AGENT, history.path, 100)).toEqual({ refused: "Already compacted." });
  });
});

describe("a turn that is too long", () => {
  const long = turn({
    words: 20,
    rounds: Array.from({ length: 8 }, () => ({ calls: 1, output: 4_000, image: false })),
    steered: true,
  });

  it("is cut in two with a note, and its request is kept word for word", () => {
    const history = new MadeHistory();
    history.turn(turn());
    history.turn(long);
    const { entry } = proposalFor(history, { kind: "summary", keep: 2_500 }) as CompactionProposal;
    expect(entry.details.split).toBe(true);
    expect(entry.summary).toContain("**Turn Context (split turn):**");
    expect(entry.summary).toMatch(/<original-request>\nrequest 2 [\s\S]*and also 2\n<\/original-request>/);
  });

  it("keeps its request when it is cut again", () => {
    const history = new MadeHistory();
    history.turn(long);
    history.path.pop();
    history.leaf = history.path.at(-1)?.id as never;
    history.append([(proposalFor(history, { kind: "summary", keep: 3_000 }) as CompactionProposal).entry]);
    const again = new MadeHistory();
    again.turn(turn({ rounds: long.rounds }));
    const more = again.path.filter((entry) => entry.type === "message" && entry.role !== "user");
    history.append(more.map(({ id: _id, ...bare }) => ({ ...bare, runId: "run-1" }) as never));
    const second = proposalFor(history, { kind: "summary", keep: 1_500 }) as CompactionProposal;
    expect(second.entry.summary).toContain("<original-request>\nrequest 1 ");
  });
});

describe("measures", () => {
  it("stay as long as the entries they apply to are kept", () => {
    const history = new MadeHistory();
    for (let n = 0; n < 8; n++) history.turn(turn({ rounds: [{ calls: 1, output: 9_000, image: true }] }));
    history.append([(proposalFor(history, { kind: "truncate", keep: 0 }) as CompactionProposal).entry]);
    history.append([(proposalFor(history, { kind: "images", keep: 0 }) as CompactionProposal).entry]);
    const text = JSON.stringify(contextOf(AGENT, history.path).messages);
    expect(text).not.toContain("AAAA");
    expect(text).not.toContain("o".repeat(3_000));
    history.turn(turn({ rounds: [{ calls: 1, output: 3_000, image: false }] }));
    expect(JSON.stringify(contextOf(AGENT, history.path).messages)).toContain("o".repeat(3_000));
    const made = proposalFor(history, { kind: "summary", keep: 3_200 }) as CompactionProposal;
    expect(made.entry.details.measures).toHaveLength(2);
    history.append([made.entry]);
    expect(JSON.stringify(contextOf(AGENT, history.path).messages)).not.toContain("AAAA");
  });

  it("make no proposal if there is nothing to cut", () => {
    const history = new MadeHistory();
    history.turn(turn());
    expect(proposalFor(history, { kind: "truncate", keep: 0 })).toBeUndefined();
    expect(proposalFor(history, { kind: "images", keep: 0 })).toBeUndefined();
  });

  it("that leave turns out add a note with the number of messages", () => {
    const history = new MadeHistory();
    for (let n = 0; n < 6; n++) history.turn(turn());
    const { entry } = proposalFor(history, { kind: "prune", keep: 300 }) as CompactionProposal;
    expect(entry.summary).toMatch(/^\[\d+ older messages were left out without a summary/);
    expect(entry.details.covered?.messages).toBeGreaterThan(5);
  });
});
