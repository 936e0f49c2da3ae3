import { describe, expect, it } from "vitest";
import type { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { failure, lastText, stall } from "../../../test/kit/model.ts";
import { dieAt } from "../../../test/kit/store.ts";
import type { AgentId } from "../../core/ids.ts";
import { childrenOf, openFamily, records, reportsIn, reportTexts } from "./family.test-kit.ts";

describe("a child that ends", () => {
  it("reports once, in the commit that ends its run, and its requester tells the person", async () => {
    const engine = await openFamily();
    await engine.tell("spawn dig");
    const [child] = await childrenOf(engine);
    expect(child).toMatchObject({ descriptor: { type: "subagent", parentAgentId: await engine.agentId() } });
    const end = engine.commits.find(({ site, owner }) => site === "rest" && owner?.agentId === child?.id);
    expect(end?.ops.map(({ op }) => op)).toEqual(
      expect.arrayContaining(["run.end", "message.post", "subagent.put", "agent.release"]),
    );
    const [text = ""] = await reportTexts(engine);
    expect(text).toMatch(
      /^A background task "task dig" just completed successfully\.\n\nFindings:\nfound dig\n\nStats: runtime 0s • tokens 15 \(in 10 \/ out 5\) • sessionKey agent:main:subagent:\S+ • sessionId \S+\n\nSummarize this naturally/u,
    );
    expect(engine.shown()).toEqual(["started", "told"]);
    expect(await records(engine)).toMatchObject([{ outcome: { status: "ok" }, cleanupHandled: true, cleanup: "keep" }]);
  });

  it("says how long it has worked, from the beginning of its run to its end", async () => {
    const ready = gate<string>();
    const engine = await openFamily({ child: () => ready.promise });
    await engine.advance(10_000);
    await engine.tell("spawn dig");
    await engine.advance(65_000);
    ready.open("found");
    await engine.settle();
    expect((await reportTexts(engine))[0]).toContain("Stats: runtime 1m5s •");
    const [record] = await records(engine);
    expect((record?.endedAt ?? 0) - (record?.startedAt ?? 0)).toBe(65_000);
  });

  it("after its parent has reported reports to the next living ancestor, who tells the person", async () => {
    const deep = gate();
    const engine = await openFamily(
      {
        child: async ({ request }, task) => {
          if (task === "deep") {
            await deep.promise;
            return "found deep";
          }
          if (request.messages.some(({ role }) => role === "tool")) return "started one";
          return { call: [{ name: "sessions_spawn", with: { task: "task deep" } }] };
        },
      },
      { settings: { subagents: { maxDepth: 2 } } },
    );
    await engine.tell("spawn dig");
    const [child] = await childrenOf(engine);
    expect((await records(engine)).filter(({ endedAt }) => endedAt === undefined)).toHaveLength(1);
    deep.open();
    await engine.settle();
    const reports = await reportsIn(engine);
    expect(reports.map(({ agentId }) => agentId)).not.toContain(child?.id);
    expect((await reportTexts(engine)).at(-1)).toContain("found deep");
    expect(engine.shown().filter((text) => text === "told")).toHaveLength(2);
  });

  it("does not report its later runs", async () => {
    const engine = await openFamily();
    await engine.tell("spawn dig");
    const [child] = await childrenOf(engine);
    await engine.system.post({ to: { agentId: child?.id as AgentId }, body: { kind: "system", text: "and more?" } });
    await engine.settle();
    expect(await engine.runs(child?.id)).toHaveLength(2);
    expect(await reportsIn(engine)).toHaveLength(1);
  });

  it.each(["result", "take", "rest"] as const)(
    "reports once if the process dies around the commit of %s",
    async (site) => {
      for (const moment of ["before", "after"] as const) {
        for (const nth of [1, 2, 3]) {
          const engine = await openFamily();
          engine.onCommit = dieAt(site, moment, nth);
          await engine.tell("spawn dig");
          await engine.restart();
          await engine.advance(60_000);
          expect((await childrenOf(engine)).length, `${moment} ${site} ${nth}`).toBe(1);
          expect(await reportsIn(engine), `${moment} ${site} ${nth}`).toHaveLength(1);
          expect(engine.shown().filter((text) => text === "told")).toHaveLength(1);
        }
      }
    },
  );

  it.each([
    ["ANNOUNCE_SKIP", true],
    ["NO_REPLY", true],
    ["found it", undefined],
  ])("with the answer %s wakes its requester unless the answer is silent", async (words, silent) => {
    const engine = await openFamily({ child: () => words });
    await engine.tell("spawn dig");
    expect((await reportsIn(engine)).map(({ body, state }) => [body.kind === "report" && body.silent, state])).toEqual([
      [silent, silent ? "recorded" : "answered"],
    ]);
    expect(engine.shown()).toEqual(silent ? ["started"] : ["started", "told"]);
  });

  it("keeps long findings in a file and out of its requester's context", async () => {
    const engine = await openFamily({ child: () => "x".repeat(20_000) });
    await engine.tell("spawn dig");
    const [text = ""] = await reportTexts(engine);
    expect(text.length).toBeLessThan(9_500);
    expect(text).toMatch(/\(8000 of 20000 characters shown, all of it is in \/files\/report-\S+\.txt\)/u);
    expect([...engine.written.values()]).toEqual(["x".repeat(20_000)]);
  });

  it("waits while its requester is busy, and all waiting reports become one prompt", async () => {
    const [busy, ready] = [gate<string>(), gate<string>()];
    const queue = {
      mode: "collect",
      debounceMs: 100,
      cap: 1,
      drop: "old",
      maxWaiting: 1_000,
      dedupe: "message-id",
      byChannel: {},
    } as const;
    const engine = await openFamily({ child: () => ready.promise }, { settings: { queue } });
    const script = engine.script;
    engine.script = (call) => (lastText(call.request) === "work" ? busy.promise : script(call));
    for (const what of ["a", "b", "c"]) await engine.tell(`spawn ${what}`).then(() => engine.advance(500));
    await engine.tell("work");
    ready.open("found it");
    await engine.settle();
    expect((await reportsIn(engine)).map(({ state }) => state)).toEqual(["waiting", "waiting", "waiting"]);
    busy.open("done");
    await engine.advance(1_000);
    expect((await reportsIn(engine)).map(({ state }) => state)).toEqual(["merged", "merged", "answered"]);
    const prompt = lastText(engine.requests.at(-1) as never);
    expect(prompt).toMatch(/^\[Queued announce messages while agent was busy\]\n\n---\nQueued #1\n/u);
    expect(prompt.match(/just completed successfully/gu)).toHaveLength(3);
    expect(engine.shown().slice(-2)).toEqual(["done", "told"]);
  });

  it("does not interrupt its requester in any queue mode", async () => {
    const [busy, ready] = [gate<string>(), gate<string>()];
    const queue = {
      mode: "interrupt",
      debounceMs: 0,
      cap: 9,
      drop: "old",
      maxWaiting: 1_000,
      dedupe: "message-id",
      byChannel: {},
    } as const;
    const engine = await openFamily({ child: () => ready.promise }, { settings: { queue } });
    const script = engine.script;
    engine.script = (call) => (lastText(call.request) === "work" ? busy.promise : script(call));
    await engine.tell("spawn a");
    await engine.tell("work");
    ready.open("found it");
    await engine.settle();
    busy.open("done");
    await engine.settle();
    expect(engine.shown()).toEqual(["started", "done", "told"]);
  });
});

describe("a child that does not finish", () => {
  const failing = async (engine: TestEngine): Promise<string> => {
    const texts = await reportTexts(engine);
    expect(texts).toHaveLength(1);
    return texts[0] ?? "";
  };

  it("because the model fails, reports that", async () => {
    const engine = await openFamily({ child: () => failure("auth"), spawn: { label: "digger" } });
    await engine.tell("spawn dig");
    const text = await failing(engine);
    const [child] = await childrenOf(engine);
    expect(text).toContain('A background task "digger" just failed: Inference failed. auth error.');
    expect(text).toContain(`Subagent digger (${child?.id}) failed: its run failed (Inference failed. auth error).`);
    expect(await records(engine)).toMatchObject([{ outcome: { status: "error" } }]);
  });

  it("in time, reports that it timed out", async () => {
    const engine = await openFamily({
      child: (call) => stall(call, new Promise(() => {}), "so far"),
      spawn: { runTimeoutSeconds: 5 },
    });
    await engine.tell("spawn dig");
    await engine.advance(4_000);
    expect(await reportsIn(engine)).toEqual([]);
    await engine.advance(2_000);
    expect(await failing(engine)).toContain('A background task "task dig" just timed out.');
  });

  it("reports a count that the model left out, and the price, as unknown", async () => {
    const usage = {
      input: 800,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 800,
      unknown: ["output" as const],
    };
    const engine = await openFamily({ child: () => ({ content: [{ type: "text", text: "found" }], usage }) });
    await engine.tell("spawn dig");
    expect((await reportTexts(engine))[0]).toContain("tokens n/a (in 800 / out n/a) • est n/a • sessionKey");
  });

  it("because a person aborted its run, reports that", async () => {
    const engine = await openFamily({ child: (call) => stall(call, new Promise(() => {})) });
    await engine.tell("spawn dig");
    const [record] = await records(engine);
    await engine.system.runs.abort(record?.runId as never);
    await engine.settle();
    expect(await failing(engine)).toContain("just failed: it was aborted.");
  });

  it("because its run was aborted while it waited for a lane, reports that", async () => {
    const engine = await openFamily(
      { child: (call, task) => (task === "a" ? stall(call, new Promise(() => {})) : "done") },
      { settings: { lanes: { main: 8, subagent: 1, cron: 1, nested: 1 } } },
    );
    await engine.tell("spawn a");
    await engine.tell("spawn b");
    const second = (await records(engine)).find(({ task }) => task === "task b");
    await engine.system.runs.abort(second?.runId as never);
    await engine.settle();
    const text = await failing(engine);
    expect(text).toContain(`Subagent subagent (${second?.childAgentId}) failed: it never began`);
    expect(text).toContain("Stats: runtime n/a •");
  });

  it("because it kills its process whenever it is tried, reports that", async () => {
    const engine = await openFamily({
      child: () => {
        engine.crash();
        return "never heard";
      },
    });
    await engine.tell("spawn dig");
    for (let life = 0; life < 5; life++) {
      expect(await reportsIn(engine)).toEqual([]);
      await engine.restart();
      // Its requester waits for it, and is no suspect.
      await engine.advance(150_000);
    }
    expect(await failing(engine)).toMatch(/just failed: This could not be finished: the program stopped three times/u);
    await engine.advance(60_000);
    expect(engine.shown().at(-1)).toEqual("told");
  });

  it.each(["waiting", "running"])("because it was %s and a restart discarded it, reports that", async (state) => {
    const engine = await openFamily({ child: (call) => stall(call, new Promise(() => {})) });
    engine.onCommit = state === "waiting" ? dieAt("take", "before", 2) : () => "go";
    await engine.tell("spawn dig");
    await engine.advance(10);
    await engine.restart({ settings: { runs: { restore: "discard" } } });
    expect(await failing(engine)).toContain(
      state === "waiting" ? "it never began: restore: discard" : "unfinished work is not taken up again",
    );
  });

  it("because it cannot be restored, reports that", async () => {
    const engine = await openFamily({ child: (call) => stall(call, new Promise(() => {})) });
    await engine.tell("spawn dig");
    const [child] = await childrenOf(engine);
    const { agent } = engine.store;
    engine.store.agent = async (id) => {
      const record = await agent(id);
      return record && id === child?.id ? { ...record, state: { version: 1 } as never } : record;
    };
    await engine.restart();
    expect(await failing(engine)).toContain("failed: its agent cannot be restored");
  });

  it("whose run was lost with the database, reports that at the next start", async () => {
    const engine = await openFamily({ child: (call) => stall(call, new Promise(() => {})) });
    await engine.tell("spawn dig");
    const [child] = await childrenOf(engine);
    const [run] = await engine.runs(child?.id);
    engine.crash();
    const owner = { agentId: child?.id as AgentId, node: child?.node ?? 0, epoch: child?.epoch ?? 0 };
    const body = run?.body as never;
    const ops = [
      { op: "message.settle", settlements: [{ seq: 1, from: "taken", state: "failed" }] },
      { op: "run.end", runId: run?.id as never, body, outcome: "lost" },
    ] as const;
    await engine.store.commit({ id: "lose" as never, site: "t", at: 1, owner, ops });
    await engine.restart();
    expect(await failing(engine)).toContain("just finished with unknown status.");
  });
});
