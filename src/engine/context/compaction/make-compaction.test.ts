/** What a compaction of each kind says of itself: its sizes, its note, and what it keeps of an earlier one. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import type { Entry } from "../../../core/history/entry.ts";
import { contextOf } from "../context.ts";
import type { EntryDraft } from "../entries.ts";
import { estimateMessages } from "./estimate-tokens.ts";
import { AGENT, MadeHistory, type TurnShape, turnShape } from "./histories.test-kit.ts";
import {
  type CompactionInput,
  type CompactionProposal,
  keepOf,
  measureProposal,
  pruneProposal,
  summaryProposal,
} from "./make-compaction.ts";
import { planCompaction } from "./plan-compaction.ts";

const PLAIN: TurnShape = {
  ...{ words: 40, image: false, rounds: [], steered: false, quiet: false, branch: false, usage: false },
};
const OVERHEAD = 100;

const historyOf = (shapes: readonly TurnShape[]): MadeHistory => {
  const history = new MadeHistory();
  for (const shape of shapes) history.turn(shape);
  return history;
};
const sizeOf = (path: readonly Entry[]): number => estimateMessages(contextOf(AGENT, path).messages);
const inputOf = ({ path }: MadeHistory, more: Partial<CompactionInput> = {}): CompactionInput => ({
  ...{ agentId: AGENT, path, tokens: sizeOf(path) + OVERHEAD, overhead: OVERHEAD, at: 9, reason: "emergency" },
  ...more,
});
const append = (history: MadeHistory, { entry }: CompactionProposal): void => {
  history.append([entry as EntryDraft]);
};
const made = (proposal: CompactionProposal | undefined): CompactionProposal => {
  if (!proposal) throw new TypeError("There is no proposal.");
  return proposal;
};

describe("the sizes of a compaction", () => {
  const kinds = fc.constantFrom("truncate", "images", "prune", "summary");
  test("are those of the context before and after it, with instructions and tools", () => {
    fc.assert(
      fc.property(fc.array(turnShape, { minLength: 1, maxLength: 4 }), kinds, (shapes, kind) => {
        const history = historyOf(shapes);
        const input = inputOf(history);
        const planned = planCompaction(AGENT, history.path, keepOf(input, 500));
        const said = { history: "## Goal", prefix: undefined, provider: "p", model: "m" };
        const found =
          kind === "prune"
            ? pruneProposal(input, 500)
            : kind !== "summary"
              ? measureProposal(input, kind)
              : "plan" in planned
                ? summaryProposal(input, planned.plan, said)
                : undefined;
        if (!found) return;
        const before = sizeOf(history.path) + OVERHEAD;
        expect(found.before).toBe(before);
        append(history, found);
        const { messages } = contextOf(AGENT, history.path);
        const after = estimateMessages(messages) + OVERHEAD;
        expect(found.after).toBe(after);
        expect(found.entry.details).toMatchObject({
          tokensAfter: Math.round(input.tokens * (after / before)),
          kept: { messages: messages.length - 1, tokens: estimateMessages(messages.slice(1)) },
        });
      }),
      { numRuns: tries(60) },
    );
  });

  test("follow the count of the provider, of which the estimate is only a share", () => {
    const history = historyOf([PLAIN, PLAIN, PLAIN, PLAIN]);
    const input = inputOf(history, { tokens: 10_000 });
    const { before, after, entry } = made(pruneProposal(input, 3_000));
    expect(entry.tokensBefore).toBe(10_000);
    expect(entry.details.tokensAfter).toBe(Math.round((10_000 * after) / before));
  });
});

describe("a context from which the oldest turns are left out", () => {
  const many = Array.from({ length: 6 }, (): TurnShape => PLAIN);

  test("says how many messages are gone, those of earlier times included, in one note", () => {
    const history = historyOf(many);
    const first = made(pruneProposal(inputOf(history), 150));
    const gone = first.entry.details.covered?.messages ?? 0;
    expect(gone).toBeGreaterThan(0);
    expect(first.entry.details.pruned).toBe(gone);
    expect(first.entry.summary).toContain(
      `[${gone} older messages were left out without a summary because the context was too large.]`,
    );
    append(history, first);
    for (const shape of many) history.turn(shape);
    const second = made(pruneProposal(inputOf(history), 150));
    const more = second.entry.details.covered?.messages ?? 0;
    expect(second.entry.details.pruned).toBe(gone + more);
    expect(second.entry.summary.match(/older messages were left out/gu)).toHaveLength(1);
    expect(second.entry.summary).toContain(`[${gone + more} older messages`);
  });

  test("says so if the last turn among them is left out in part", () => {
    const long = { ...PLAIN, rounds: Array.from({ length: 4 }, () => ({ calls: 1, output: 2_000, image: false })) };
    const { entry } = made(pruneProposal(inputOf(historyOf([long])), 700));
    expect(entry.details.split).toBe(true);
    expect(entry.summary).toContain("too large, the last turn among them only in part.]");
    const whole = made(pruneProposal(inputOf(historyOf(many)), 150)).entry;
    expect(whole.details.split).toBeUndefined();
    expect(whole.summary).not.toContain("in part");
  });

  test("keeps the summary before it, and cuts one that takes more than half of the room", () => {
    const kept = (summary: string): string => {
      const history = historyOf(many);
      const first = made(pruneProposal(inputOf(history), 150));
      append(history, { ...first, entry: { ...first.entry, summary } });
      for (const shape of many) history.turn(shape);
      return made(pruneProposal(inputOf(history), 200)).entry.summary;
    };
    expect(kept("What was said before.")).toContain("What was said before.");
    const long = `begin ${"x".repeat(4_000)} end`;
    expect(kept(long)).not.toContain(long);
    expect(kept(long)).toContain("begin");
    expect(kept(long).length).toBeLessThan(1_000);
  });

  test("is not made smaller if there is only one message", () => {
    const history = new MadeHistory();
    expect(pruneProposal(inputOf(history), 10)).toBeUndefined();
  });
});

describe("a measure after a reset", () => {
  const output = [{ calls: 1, output: 9_000, image: false }];
  test("keeps the words that the session began with", () => {
    const history = new MadeHistory();
    history.reset();
    history.turn({ ...PLAIN, rounds: output });
    const reset = history.path[0];
    const found = made(measureProposal(inputOf(history), "truncate"));
    expect(found.entry.firstKeptEntryId).toBe(reset?.id);
    append(history, found);
    expect(JSON.stringify(contextOf(AGENT, history.path).messages)).toContain("begin anew");
  });

  test("begins with the first message if the reset had no words", () => {
    const history = new MadeHistory();
    history.reset();
    history.path = history.path.map((entry) => ({ ...entry, message: undefined }) as Entry);
    history.turn({ ...PLAIN, rounds: output });
    const found = made(measureProposal(inputOf(history), "truncate"));
    expect(found.entry.firstKeptEntryId).toBe(history.path[1]?.id);
  });
});

describe("how much of the end is kept", () => {
  const kept = (wanted: number, more: Partial<CompactionInput>): number =>
    keepOf(inputOf(historyOf(Array.from({ length: 12 }, () => PLAIN)), more), wanted);
  const all = sizeOf(historyOf(Array.from({ length: 12 }, () => PLAIN)).path);

  test("is what is wanted, and at most a third of the context", () => {
    expect(kept(100, {})).toBe(100);
    expect(kept(1_000_000, {})).toBe(Math.floor(all / 3));
  });

  test("is scaled to the provider's count, with instructions and tools", () => {
    expect(kept(100, { tokens: 2 * (all + OVERHEAD) })).toBe(50);
    expect(kept(100, { tokens: 2 * (all + 900), overhead: 900 })).toBe(50);
    expect(kept(99, { tokens: 2 * (all + OVERHEAD) })).toBe(49);
    expect(kept(1, { tokens: 0, overhead: 0 })).toBe(Math.floor(all / 3));
  });
});

describe("what a compaction keeps word for word", () => {
  const long = { ...PLAIN, rounds: Array.from({ length: 5 }, () => ({ calls: 1, output: 2_000, image: false })) };

  test("is the request of a turn that goes on, the files it read and the names it gave", () => {
    const { summary, details, firstKeptEntryId } = made(pruneProposal(inputOf(historyOf([long])), 700)).entry;
    expect(summary).toMatch(/<original-request>\nrequest 1 `FACT-1` word[^<]*\n<\/original-request>/u);
    expect(details.request?.[0]).toContain("request 1 `FACT-1`");
    expect(details.requestRunId).toBe("run-1");
    expect(details.readFiles).toContain("/f/call-1");
    expect(summary).toContain("/f/call-1");
    expect(details).not.toHaveProperty("modifiedFiles");
    expect(firstKeptEntryId).toMatch(/\S/u);
  });

  test("stays so in the next one", () => {
    const history = historyOf([long]);
    append(history, made(pruneProposal(inputOf(history), 700)));
    for (const shape of Array.from({ length: 6 }, () => PLAIN)) history.turn(shape);
    const { summary, details } = made(pruneProposal(inputOf(history), 300)).entry;
    expect(details.readFiles).toContain("/f/call-1");
    expect(summary.match(/<read-files>/gu)).toHaveLength(1);
  });

  test("is the earlier summary if a model wrote only about the turn that goes on", () => {
    const history = historyOf([PLAIN, PLAIN, PLAIN, PLAIN]);
    const first = made(pruneProposal(inputOf(history), 150));
    append(history, { ...first, entry: { ...first.entry, summary: "They like tea." } });
    for (const shape of [PLAIN, PLAIN, PLAIN]) history.turn(shape);
    const input = inputOf(history);
    const planned = planCompaction(AGENT, history.path, keepOf(input, 60));
    if ("refused" in planned) throw new TypeError(planned.refused);
    const said = { prefix: " ## Request \n\n", provider: "p", model: "m" };
    const { entry } = summaryProposal(input, planned.plan, said);
    expect(entry.summary).toMatch(/^They like tea\./u);
    expect(entry.summary).toMatch(/## Request(?:\n\n<|$)/u);
    expect(entry.firstKeptEntryId).toBe(planned.plan.firstKeptEntryId);
  });
});

describe("a summary", () => {
  const proposed = (said: { history?: string; prefix?: string }, instructions?: string) => {
    const history = historyOf([PLAIN, PLAIN, PLAIN, PLAIN]);
    const input = inputOf(history, { reason: "manual", runId: "r9" });
    const planned = planCompaction(AGENT, history.path, keepOf(input, 60));
    if ("refused" in planned) throw new TypeError(planned.refused);
    return summaryProposal(input, planned.plan, { provider: "p", model: "m", ...said }, instructions).entry;
  };

  test("names its model, its reason, its run and its instructions, and the texts that a model wrote", () => {
    const { summary, details, timestamp } = proposed({ history: "## Goal\nfly" }, "be short");
    expect(summary).toContain("## Goal\nfly");
    expect(details).toMatchObject({ provider: "p", model: "m", reason: "manual", runId: "r9", kind: "summary" });
    expect(details).toMatchObject({ instructions: "be short", split: undefined, timestamp: 9 });
    expect(timestamp).toBe(9);
    expect(proposed({ history: "x" }, "").details.instructions).toBeUndefined();
    expect(proposed({ history: "x" }).details).not.toHaveProperty("measures");
  });

  test("of a turn that was split has both texts, and says that there was nothing before if that is so", () => {
    const both = proposed({ history: " ## Goal ", prefix: " ## Request " });
    expect(both.details.split).toBe(true);
    expect(both.summary).toContain("## Goal\n");
    expect(both.summary).toContain("## Request");
    expect(both.summary.indexOf("## Goal")).toBeLessThan(both.summary.indexOf("## Request"));
    expect(proposed({ prefix: "## Request" }).summary).toMatch(/^No prior history/u);
  });
});
