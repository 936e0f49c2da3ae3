import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, type Reply } from "../../../test/kit/model.ts";
import type { AgentId } from "../../core/ids.ts";

const text = (words: string) => ({ kind: "user", text: words }) as const;

describe("postAndAwait", () => {
  it("returns the result of the run that took the message", async () => {
    const engine = await TestEngine.open();
    const answer = engine.system.postAndAwait({ ...engine.person(), body: text("hi") });
    await engine.settle();
    expect((await answer).result).toMatchObject({ outcome: "ok", payloads: [{ text: "answer to hi" }] });
  });

  it("rejects with a typed error after its timeout; the message stays and is answered", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: () => hold.promise });
    const answer = engine.system.postAndAwait({ ...engine.person(), body: text("hi") }, { timeoutMs: 5_000 });
    const settled = expect(answer).rejects.toMatchObject({ code: "timeout", retryable: true });
    await engine.advance(5_000);
    await settled;
    hold.open("late");
    await engine.settle();
    expect(engine.shown()).toEqual(["late"]);
  });

  it("waits for the earlier message if the same one is posted again", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: () => hold.promise });
    const posting = { ...engine.person(), body: text("hi"), key: "request-1" };
    const one = engine.system.postAndAwait(posting);
    await engine.settle();
    const two = engine.system.postAndAwait(posting);
    await engine.settle();
    hold.open("once");
    await engine.advance(2_000);
    expect((await one).result?.runId).toBe((await two).result?.runId);
    expect(engine.requests).toHaveLength(1);
  });

  it("settles at once if the message is already settled", async () => {
    const engine = await TestEngine.open();
    const posting = { ...engine.person(), body: text("hi"), key: "request-1" };
    const one = engine.system.postAndAwait(posting);
    await engine.settle();
    await one;
    const two = engine.system.postAndAwait(posting);
    await engine.settle();
    await expect(two).resolves.toBeDefined();
  });

  it("settles if the message was pruned during the wait", async () => {
    const engine = await TestEngine.open();
    const posting = { ...engine.person(), body: text("hi"), key: "request-1" };
    const one = engine.system.postAndAwait(posting);
    await engine.settle();
    await one;
    const ops = [{ op: "prune", what: "messages", before: Number.MAX_SAFE_INTEGER, limit: 10 }] as const;
    await engine.store.commit({ id: "prune" as never, site: "prune", at: 1, ops });
    const two = engine.system.postAndAwait(posting);
    await engine.settle();
    await expect(two).resolves.toBeDefined();
  });

  it("resumes after a restart by reading the message again", async () => {
    const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
    const posting = { ...engine.person(), body: text("hi"), key: "request-1" };
    void engine.system.postAndAwait(posting);
    await engine.settle();
    engine.script = () => "after the restart";
    await engine.reboot();
    const again = engine.system.postAndAwait(posting);
    await engine.advance(2_000);
    await expect(again).resolves.toBeDefined();
    expect(engine.shown()).toEqual(["after the restart"]);
  });

  it("refuses a wait that would close a cycle, before anything is posted", async () => {
    const agents: Record<string, AgentId> = {};
    const refused: unknown[] = [];
    const engine = await TestEngine.open({
      script: ({ request }) => {
        const words = lastText(request);
        if (request.messages.at(-1)?.role === "tool") return `${words}: ${lastText(request, "tool")}`;
        if (words === "ask bob" || words.includes("ask ann")) return { call: [{ name: "ask", with: { words } }] };
        return "hello";
      },
      tools: {
        ask: {
          execute: async ({ words }, { agentId }) => {
            const other = String(words).includes("bob") ? "bob" : "ann";
            try {
              const answer = await engine.system.postAndAwait(
                {
                  to: { agentId: agents[other] as AgentId },
                  body: { kind: "system", text: other === "bob" ? "ask ann" : "hi" },
                },
                { from: agentId },
              );
              return answer.result?.payloads[0]?.text ?? "nothing";
            } catch (error) {
              refused.push(error);
              return "refused";
            }
          },
        },
      },
    });
    for (const name of ["ann", "bob"]) {
      await engine.tell("hi", { name });
      agents[name] = await engine.agentId(name);
    }
    await engine.tell("ask bob", { name: "ann" });
    await engine.advance(1_000);
    expect(refused).toMatchObject([{ code: "wait_cycle" }]);
    expect(engine.shown().at(-1)).toMatch(/^ask bob: .*refused/);
    expect(await engine.states(agents.ann)).toEqual(["answered", "answered"]);
    expect(await engine.states(agents.bob)).toEqual(["answered", "answered"]);
  });

  it("frees the waiting agent's place in the lane, so that the awaited agent can work", async () => {
    const agents: Record<string, AgentId> = {};
    const engine = await TestEngine.open({
      script: ({ request }) => {
        if (request.messages.at(-1)?.role === "tool") return `bob says ${lastText(request, "tool")}`;
        return lastText(request) === "ask" ? { call: [{ name: "ask" }] } : "hello";
      },
      tools: {
        ask: {
          execute: async (_input, { agentId }) => {
            const posting = { to: { agentId: agents.bob as AgentId }, body: { kind: "system", text: "hi" } as const };
            const answer = await engine.system.postAndAwait(posting, { from: agentId });
            return answer.result?.payloads[0]?.text ?? "nothing";
          },
        },
      },
      system: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 } },
    });
    await engine.tell("hi", { name: "bob" });
    agents.bob = await engine.agentId("bob");
    await engine.tell("ask", { name: "ann" });
    expect(engine.shown().at(-1)).toBe("bob says hello");
    expect(engine.system.lanes.counts().main).toEqual({ size: 1, active: 0, waiting: 0 });
  });
});

describe("agentFor", () => {
  const bobOwns = { system: { isOwner: ({ userId }: { userId: string }) => userId === "bob" } };

  it("finds the agent the owner wrote to last, even right after a restart with no agent in memory", async () => {
    const engine = await TestEngine.open(bobOwns);
    await engine.tell("one", { name: "ann" });
    await engine.advance(1_000);
    await engine.tell("two", { name: "bob" });
    await engine.advance(1_000);
    await engine.tell("a stranger's message redirects nothing", { name: "mallory" });
    expect(await engine.system.agentFor("most-recent-foreground")).toBe(await engine.agentId("bob"));
    await engine.restart();
    expect(engine.system.loaded).toBe(0);
    expect(await engine.system.agentFor("most-recent-foreground")).toBe(await engine.agentId("bob"));
    expect(await engine.system.agentFor("heartbeat")).toBeUndefined();
  });

  it("ignores silent messages, system messages, and agents that are not conversations", async () => {
    const engine = await TestEngine.open({ system: { isOwner: () => true } });
    await engine.tell("one", { name: "ann" });
    await engine.advance(1_000);
    await engine.tell("two", { name: "bob" });
    await engine.advance(1_000);
    const bob = await engine.agentId("bob");
    await engine.send({ kind: "system", text: "psst", silent: true }, { name: "ann" });
    await engine.send({ kind: "system", text: "hello" }, { name: "ann" });
    await engine.system.post({ to: { descriptor: { type: "heartbeat" } }, body: text("tick") });
    await engine.settle();
    expect(await engine.system.agentFor("most-recent-foreground")).toBe(bob);
    expect(await engine.system.agentFor("heartbeat")).not.toBe(bob);
  });

  it("routes a message without a target to that agent", async () => {
    const engine = await TestEngine.open({ system: { isOwner: () => true } });
    await engine.tell("one");
    await engine.system.post({ to: { strategy: "most-recent-foreground" }, body: { kind: "system", text: "news" } });
    await engine.settle();
    expect(await engine.transcript()).toContain("user: <system_message>news</system_message>");
  });
});
