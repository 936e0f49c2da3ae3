import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { modelResult } from "../../../test/kit/model.ts";
import { freshState } from "../../core/agent/fresh-state.ts";
import type { Usage } from "../../core/history/entry.ts";
import { addUsage, cliSessionsIn, countSpent, stateAfterCall } from "./usage.ts";

const report = (chars: number) => ({ chars, parts: [], missing: ["SOUL.md"] });

describe("an agent's state after a run", () => {
  it("has the report of the system prompt, which is not sent to the model", async () => {
    let chars = 10;
    const engine = await TestEngine.open({
      system: { resolveModel: () => ({ model: "m", system: "s", report: report(chars) }) },
    });
    await engine.say("one");
    await engine.settle();
    const state = async () => (await engine.store.agent(await engine.agentId()))?.state;
    expect((await state())?.systemPromptReport).toEqual(report(10));
    expect(engine.requests[0]).not.toHaveProperty("report");
    chars = 20;
    const { result } = await engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "two" } });
    expect(result?.meta.systemPromptReport).toEqual(report(20));
    expect((await state())?.systemPromptReport).toEqual(report(20));
    await engine.system.post({ ...engine.person(), body: { kind: "reset", by: "person" } });
    await engine.settle();
    expect((await state())?.systemPromptReport).toBeUndefined();
  });

  it("has the token counts of the last call, the model that answered, and the origin of the message", async () => {
    const engine = await TestEngine.open();
    await engine.say("one");
    await engine.settle();
    expect((await engine.store.agent(await engine.agentId()))?.state).toMatchObject({
      systemSent: true,
      modelProvider: "scripted",
      model: "scripted-1",
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 10,
      chatType: "direct",
      origin: { provider: "test", from: "ann", to: "ann" },
      lastChannel: "test",
      lastTo: "ann",
    });
  });
});

describe("sums of usage", () => {
  const cost = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, total: 10 };
  const one: Usage = { input: 10, output: 20, cacheRead: 30, cacheWrite: 40, totalTokens: 100, cost };
  const two: Usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 5 };

  it("add every number, and keep a price that only one of them has", () => {
    expect(addUsage(one, one)).toEqual({
      input: 20,
      output: 40,
      cacheRead: 60,
      cacheWrite: 80,
      totalTokens: 200,
      cost: { input: 2, output: 4, cacheRead: 6, cacheWrite: 8, total: 20 },
    });
    expect(addUsage(one, two)).toEqual({
      input: 11,
      output: 22,
      cacheRead: 33,
      cacheWrite: 44,
      totalTokens: 105,
      cost,
    });
    expect(addUsage(two, one)?.cost).toEqual(cost);
    expect([addUsage(undefined, two), addUsage(two, undefined), addUsage(undefined, undefined)]).toEqual([
      two,
      two,
      undefined,
    ]);
  });

  it("are kept by provider and model", () => {
    const state = { stats: { p: { other: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, total: 1 } } } } as never;
    const once = countSpent(state, "p", "m", two);
    const twice = countSpent(once, "p", "m", one);
    expect(twice.stats.p).toEqual({
      other: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, total: 1 },
      m: { input: 11, output: 22, cacheRead: 33, cacheWrite: 44, total: 105 },
    });
  });

  it("of a call say what the context filled; a call without numbers changes nothing", () => {
    const state = freshState(1);
    const called = stateAfterCall(state, {}, modelResult({ say: "x", provider: "p", model: "m", usage: one } as never));
    expect(called).toMatchObject({
      inputTokens: 10,
      outputTokens: 20,
      totalTokens: 80,
      modelProvider: "p",
      model: "m",
    });
    const { usage: _usage, ...silent } = modelResult("x");
    expect(stateAfterCall(state, {}, silent as never)).toEqual(state);
  });

  it("keep the report of a prompt until another one comes, and the session of a program", () => {
    const { usage: _usage, ...silent } = modelResult("x");
    const first = stateAfterCall(freshState(1), { report: report(1) as never }, silent as never);
    expect(first.systemPromptReport).toEqual(report(1));
    expect(stateAfterCall(first, {}, silent as never).systemPromptReport).toEqual(report(1));
    expect(stateAfterCall(first, { report: report(1) as never }, silent as never)).toEqual(first);
    expect(stateAfterCall(first, { report: report(2) as never }, silent as never).systemPromptReport).toEqual(
      report(2),
    );
    const program = { ...silent, cliSession: { provider: "cli", id: "7" } } as never;
    const begun = stateAfterCall(first, {}, program);
    expect(begun.cliSessionIds).toEqual({ cli: "7" });
    expect(stateAfterCall(begun, {}, program)).toEqual(begun);
  });
});

describe("the state after a call", () => {
  const before = {
    ...freshState(1),
    stats: { other: { m: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, total: 2 } } },
  };
  const skillsSnapshot = { prompt: "skills", skills: [] } as never;

  it("keeps the sums of other providers, and has the skills only if they are new", () => {
    const plain = stateAfterCall(before, undefined, modelResult("hi"));
    expect(Object.keys(plain.stats)).toEqual(["other", "scripted"]);
    expect("skillsSnapshot" in plain).toBe(false);
    expect(stateAfterCall(before, { skillsSnapshot }, modelResult("hi")).skillsSnapshot).toBe(skillsSnapshot);
    const kept = { ...before, skillsSnapshot };
    expect(stateAfterCall(kept, {}, modelResult("hi")).skillsSnapshot).toBe(skillsSnapshot);
  });

  it("keeps the report of the prompt in memory while it says the same", () => {
    const known = report(10);
    const state = { ...before, systemPromptReport: known };
    expect(stateAfterCall(state, { report: report(10) }, modelResult("hi")).systemPromptReport).toBe(known);
    expect(stateAfterCall(state, { report: report(11) }, modelResult("hi")).systemPromptReport).toEqual(report(11));
    expect(stateAfterCall(state, {}, modelResult("hi")).systemPromptReport).toBe(known);
  });

  it("remembers the session of each program, and changes nothing for one that it knows", () => {
    const said = (provider: string, id: string) => ({
      ...modelResult("hi"),
      usage: undefined,
      cliSession: { provider, id },
    });
    const one = stateAfterCall(before, {}, said("claude", "s1"));
    const two = stateAfterCall(one, {}, said("codex", "s2"));
    expect(two).toMatchObject({ ...before, cliSessionIds: { claude: "s1", codex: "s2" } });
    expect(stateAfterCall(two, {}, said("codex", "s2")).cliSessionIds).toBe(two.cliSessionIds);
    expect(stateAfterCall(two, {}, said("codex", "s3")).cliSessionIds).toEqual({ claude: "s1", codex: "s3" });
    expect(two.claudeCliSessionId).toBeUndefined();
    const claude = stateAfterCall(two, {}, said("claude-cli", "s4"));
    expect(stateAfterCall(claude, {}, said("codex", "s5")).claudeCliSessionId).toBe("s4");
  });

  it.each([
    [{}, undefined],
    [{ cliSessionIds: { codex: "s1" } }, { codex: "s1" }],
    [{ claudeCliSessionId: "old" }, { "claude-cli": "old" }],
    [{ claudeCliSessionId: "old", cliSessionIds: { "claude-cli": "new" } }, { "claude-cli": "new" }],
  ])("reads the sessions of programs in %j", (fields, sessions) => {
    expect(cliSessionsIn({ ...before, ...fields })).toEqual(sessions);
  });
});
