import { describe, expect, it } from "vitest";
import {
  buildStatsLine,
  buildTriggerMessage,
  formatDuration,
  statusLabel,
  subagentFailureText,
} from "./report-text.ts";

const END = [
  "",
  "Summarize this naturally for the user. Keep it brief (1-2 sentences).",
  "Do not mention technical details like tokens, stats, or that this was a background task.",
  "You can respond with NO_REPLY if no announcement is needed.",
].join("\n");

describe("a report", () => {
  it.each<[string, Partial<Parameters<typeof buildTriggerMessage>[0]>, string]>([
    [
      "contains the findings",
      { label: "dig", task: "dig deep", reply: "gold" },
      `A background task "dig" just completed successfully.\n\nFindings:\ngold\n\nStats: x\n${END}`,
    ],
    [
      "is named after its task if it has no label",
      { task: "dig deep", reply: " gold \n" },
      `A background task "dig deep" just completed successfully.\n\nFindings:\ngold\n\nStats: x\n${END}`,
    ],
    [
      "always has a name, and says (no output) without findings",
      {},
      `A background task "background task" just completed successfully.\n\nFindings:\n(no output)\n\nStats: x\n${END}`,
    ],
    [
      "contains the failure line before the reply",
      {
        label: "dig",
        outcome: { status: "error", error: "rock" },
        failure: "Subagent dig (id) failed: rock.",
        reply: "hm",
      },
      `A background task "dig" just failed: rock.\n\nFindings:\nSubagent dig (id) failed: rock.\n\nhm\n\nStats: x\n${END}`,
    ],
  ])("%s", (_, parts, text) => {
    expect(buildTriggerMessage({ outcome: { status: "ok" }, stats: "Stats: x", ...parts })).toBe(text);
  });

  it.each([
    [{ status: "ok" }, "completed successfully"],
    [{ status: "timeout" }, "timed out"],
    [{ status: "error", error: "no key" }, "failed: no key"],
    [{ status: "error" }, "failed: unknown error"],
    [{ status: "unknown" }, "finished with unknown status"],
  ] as const)("of %o says %s", (outcome, label) => {
    expect(statusLabel(outcome)).toBe(label);
  });

  it.each([
    ["its run failed", "no key", "Subagent dig (abc) failed: its run failed (no key)."],
    ["it timed out", undefined, "Subagent dig (abc) failed: it timed out."],
  ])("of a failed child contains the reason: %s", (reason, error, text) => {
    expect(subagentFailureText({ name: "dig", id: "abc" }, reason, error)).toBe(text);
  });
});

describe("the stats of a report", () => {
  const usage = { input: 800, output: 400, totalTokens: 1_200 };
  const cost = (total: number) => ({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total });
  it.each([
    [
      { runtimeMs: 150_000, usage: { ...usage, cost: cost(0.02) }, sessionKey: "agent:main:subagent:uuid" },
      "Stats: runtime 2m30s • tokens 1.2k (in 800 / out 400) • est $0.02 • sessionKey agent:main:subagent:uuid",
    ],
    [{ usage, sessionKey: "k" }, "Stats: runtime n/a • tokens 1.2k (in 800 / out 400) • sessionKey k"],
    [
      { usage: { ...usage, totalTokens: 800, cost: cost(0.02), unknown: ["output" as const] }, sessionKey: "k" },
      "Stats: runtime n/a • tokens n/a (in 800 / out n/a) • est n/a • sessionKey k",
    ],
    [
      { usage: { ...usage, totalTokens: 400, unknown: ["input" as const] }, sessionKey: "k" },
      "Stats: runtime n/a • tokens n/a (in n/a / out 400) • est n/a • sessionKey k",
    ],
    [
      { runtimeMs: 1, sessionKey: "k", sessionId: "s", transcript: "/h.jsonl" },
      "Stats: runtime 0s • tokens n/a • sessionKey k • sessionId s • transcript /h.jsonl",
    ],
  ])("%#", (parts, line) => {
    expect(buildStatsLine(parts)).toBe(line);
  });

  it.each([
    [undefined, "n/a"],
    [-5, "n/a"],
    [Number.NaN, "n/a"],
    [0, "0s"],
    [499, "0s"],
    [1_500, "2s"],
    [59_600, "1m0s"],
    [150_000, "2m30s"],
    [3_600_000, "1h0m"],
    [3_900_000, "1h5m"],
  ])("runtime of %s ms is %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it.each([
    [0, "0"],
    [999, "999"],
    [1_000, "1.0k"],
    [1_234, "1.2k"],
    [1_000_000, "1.0m"],
    [2_540_000, "2.5m"],
    [Number.NaN, "0"],
  ])("%s tokens are %s", (totalTokens, text) => {
    expect(buildStatsLine({ usage: { ...usage, totalTokens }, sessionKey: "k" })).toContain(`tokens ${text} (in 800`);
  });
});
