import { describe, expect, test } from "vitest";
import { approval, NOW, said } from "./command-context.test-kit.ts";

describe("/status", () => {
  const size = { input: 10, cacheRead: 20, cacheWrite: 30, output: 40 };
  test("says what is known", async () => {
    expect(await said("status", "")).toBe(
      "Model: n/a, thinking default\nContext: n/a\nToday: 0 tokens, $0.0000\nRun: none\nWaiting: nothing",
    );
    const models = {
      describe: async () => ({ model: "p/m", thinking: "low", choices: [] }),
      problem: async () => undefined,
    };
    const text = await said("status", "", {
      parts: { models },
      agent: { state: { tokens: { model: "old", size }, thinkingLevel: "high" } },
      contextWindow: async () => 200,
      waits: async () => ({ run: "active", waiting: [{ what: "a message", why: "the run" }] }),
      approvals: { pending: async () => [approval()] },
    });
    expect(text).toBe(
      "Model: p/m, thinking low\nContext: 100 of 200 tokens (50 %)\nToday: 0 tokens, $0.0000\nRun: active\nWaiting:\n- a message: the run\n- exec waits for a yes: /approve kfmz or /deny kfmz",
    );
  });
  test.each<[object | undefined, number | undefined, string]>([
    [undefined, 200, "n/a of 200 tokens"],
    [size, undefined, "100 tokens"],
    [size, 0, "100 tokens"],
    [size, 1, "100 of 1 tokens (10000 %)"],
    [size, 3, "100 of 3 tokens (3333 %)"],
  ])("of a context of %j in %s", async (used, window, text) => {
    const state = { tokens: { model: "old", size: used }, thinkingLevel: "high" };
    const shown = await said("status", "", { agent: { state }, contextWindow: async () => window });
    expect(shown).toContain("Model: old, thinking high");
    expect(shown).toContain(`Context: ${text}\n`);
  });
  test("lists ten things that wait", async () => {
    const waits = (count: number) => async () => ({
      waiting: Array.from({ length: count }, (_, n) => ({ what: `m${n}`, why: "y" })),
    });
    expect(await said("status", "", { waits: waits(10) })).not.toContain("more");
    const text = await said("status", "", { waits: waits(12) });
    expect(text).toContain("- m9: y\n- … and 2 more");
  });
  test("counts since the day began", async () => {
    const since: number[] = [];
    const spentSince = async (at: number) =>
      since.push(at) > 1 ? { tokens: 5, dollars: 0 } : { tokens: 1, dollars: 1.5 };
    expect(await said("status", "", { spentSince })).toContain("Today: 1 tokens, $1.5000");
    expect(await said("status", "", { spentSince, parts: { dayStart: () => 7 } })).toContain(
      "Today: 5 tokens, cost n/a",
    );
    expect(since).toEqual([NOW - 86_400_000, 7]);
  });
});
