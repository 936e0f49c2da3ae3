import { describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, type Reply, stall } from "../../../test/kit/model.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { type AgentId, type ChangeId, messageId } from "../../core/ids.ts";
import type { Change } from "../../core/store/change.ts";

const text = (words: string) => ({ kind: "user", text: words }) as const;

describe("first messages", () => {
  it("that arrive two hundred at once create one agent, and are answered in the order of acceptance", async () => {
    const engine = await TestEngine.open();
    const accepted = await Promise.all(Array.from({ length: 200 }, (_, n) => engine.say(`n${n}`)));
    await engine.settle();
    const agents = await engine.store.agents({ limit: 1000 });
    expect(agents).toHaveLength(1);
    expect(accepted.filter((one) => one.status !== "stale" && one.created)).toHaveLength(1);
    expect(new Set(accepted.map((one) => one.status !== "stale" && one.agentId))).toEqual(new Set([agents[0]?.id]));
    const inOrder = accepted
      .map((one, n) => ({ seq: one.status === "stale" ? 0 : one.seq, n }))
      .sort((a, b) => a.seq - b.seq);
    expect(engine.shown()).toEqual(inOrder.map(({ n }) => `answer to n${n}`));
  });

  it("of people on the same channel create one agent per person, with separate contexts", async () => {
    const engine = await TestEngine.open();
    await Promise.all([engine.say("I am ann", { name: "ann" }), engine.say("I am bob", { name: "bob" })]);
    await engine.settle();
    expect(await engine.store.agents({ limit: 9 })).toHaveLength(2);
    for (const bytes of engine.sentBytes) expect(bytes.includes("ann") && bytes.includes("bob")).toBe(false);
  });

  it("to an invalid or unknown agent are refused with a typed error, and nothing is stored", async () => {
    const engine = await TestEngine.open();
    const bad: AgentDescriptor = { type: "user", connector: "test", userId: "", channelId: "c" };
    await expect(engine.system.post({ to: { descriptor: bad }, body: text("hi") })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(
      engine.system.post({ to: { agentId: "nobody0000000000000000000" as AgentId }, body: text("hi") }),
    ).rejects.toMatchObject({ code: "not_found" });
    await expect(
      engine.system.post({ to: { strategy: "most-recent-foreground" }, body: text("hi") }),
    ).rejects.toMatchObject({ code: "not_found" });
    expect(await engine.store.agents({ limit: 9 })).toEqual([]);
  });
});

describe("concurrent runs", () => {
  it("are limited to one per agent, for every kind of message", async () => {
    let now = 0;
    let most = 0;
    const engine = await TestEngine.open({
      script: async ({ request }) => {
        most = Math.max(most, ++now);
        await Promise.resolve();
        now -= 1;
        return lastText(request);
      },
    });
    await Promise.all(Array.from({ length: 30 }, (_, n) => engine.say(`n${n}`)));
    await engine.settle();
    expect(most).toBe(1);
    expect(await engine.states()).toEqual(Array(30).fill("answered"));
  });

  it("are limited by the width of the lane; the other runs wait", async () => {
    const holds = new Map<string, (reply: Reply) => void>();
    const engine = await TestEngine.open({
      script: ({ request }) => new Promise<Reply>((resolve) => holds.set(lastText(request), resolve)),
      system: { lanes: { main: 2, subagent: 1, cron: 1, nested: 1 } },
    });
    for (const name of ["a", "b", "c"]) await engine.tell(name, { name });
    expect([...holds.keys()]).toEqual(["a", "b"]);
    expect(engine.system.lanes.counts().main).toEqual({ size: 2, active: 2, waiting: 1 });
    holds.get("b")?.("done");
    await engine.settle();
    expect([...holds.keys()]).toEqual(["a", "b", "c"]);
    holds.get("a")?.("done");
    holds.get("c")?.("done");
    await engine.settle();
    expect(engine.system.lanes.counts().main).toEqual({ size: 2, active: 0, waiting: 0 });
  });
});

describe("idle agents", () => {
  it("leave memory above the limit, and return with their conversation", async () => {
    const engine = await TestEngine.open({ system: { warm: 3 } });
    for (let n = 0; n < 20; n++) await engine.tell(`hello from p${n}`, { name: `p${n}` });
    expect(engine.system.loaded).toBeLessThanOrEqual(4);
    await engine.tell("again", { name: "p0" });
    expect(engine.sentBytes.at(-1)).toContain("hello from p0");
    expect(engine.shown().at(-1)).toBe("answer to again");
  });

  it("are released, so that any node may claim them", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hello");
    expect((await engine.store.agent(await engine.agentId()))?.node).toBeUndefined();
  });
});

describe("an agent that waits for the end of the debounce", () => {
  const queue = {
    mode: "collect",
    debounceMs: 1_000,
    cap: 20,
    drop: "summarize",
    dedupe: "message-id",
    byChannel: {},
  } as const;
  const waiting = async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      script: (call) => (call.n === 1 ? stall(call, hold.promise) : "fine"),
      system: { warm: 1, queue },
    });
    await engine.tell("one");
    await engine.tell("two");
    hold.open("first");
    await engine.settle();
    expect(await engine.states()).toEqual(["answered", "waiting"]);
    return engine;
  };

  it("does not count as idle: it stays in memory, and the next message reaches the same actor", async () => {
    const engine = await waiting();
    for (let n = 0; n < 5; n++) await engine.tell("hello", { name: `p${n}` });
    await engine.advance(500);
    await engine.tell("three");
    await engine.advance(5_000);
    expect(await engine.states()).toEqual(["answered", expect.any(String), expect.any(String)]);
    expect((await engine.runs()).map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ["ok", 1],
      ["ok", 1],
    ]);
  });

  it("is awaited by settled()", async () => {
    const engine = await waiting();
    let done = false;
    const settled = engine.system.settled().then(() => {
      done = true;
    });
    await engine.advance(500);
    expect(done).toBe(false);
    await engine.advance(1_000);
    await settled;
    expect(engine.shown()).toEqual(["first", "fine"]);
  });

  it("does not delay a drain", async () => {
    const engine = await waiting();
    await engine.drain();
    expect(await engine.states()).toEqual(["answered", "waiting"]);
    await engine.restart();
    await engine.advance(5_000);
    expect(engine.shown()).toEqual(["first", "fine"]);
  });
});

describe("a message that arrives while the agent is being released", () => {
  // The message arrives at every point between the end of the last run and the next claim.
  for (let delay = 0; delay < 12; delay++) {
    it(`is handled (after ${delay} turns of the loop)`, async () => {
      const engine = await TestEngine.open();
      let late: Promise<unknown> | undefined;
      engine.onCommit = (change: Change) => {
        if (change.site === "rest" && !late) {
          late = (async () => {
            for (let turn = 0; turn < delay; turn++) await (turn % 2 ? Promise.resolve() : new Promise(setImmediate));
            return engine.say("two");
          })();
        }
        return "go";
      };
      await engine.tell("one");
      await late;
      await engine.settle();
      expect(engine.shown()).toEqual(["answer to one", "answer to two"]);
      expect((await engine.store.agent(await engine.agentId()))?.node).toBeUndefined();
    });
  }

  it("uses the context in memory, without reading history again", async () => {
    const engine = await TestEngine.open();
    let reads = 0;
    const { linesBack } = engine.store;
    await engine.tell("one");
    (engine.store as { linesBack: typeof linesBack }).linesBack = (id, page) => {
      reads += 1;
      return linesBack(id, page);
    };
    await engine.tell("two");
    expect(reads).toBe(0);
    expect(JSON.parse(engine.sentBytes[1] ?? "")).toHaveLength(3);
  });
});

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

describe("a reset", () => {
  it("goes before waiting messages, which then run in the new session", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: (call) => (call.n === 1 ? stall(call, hold.promise) : "fine") });
    await engine.tell("one");
    await engine.say("two");
    await engine.send({ kind: "reset", by: "daily" });
    await engine.settle();
    hold.open("first");
    await engine.settle();
    expect(await engine.transcript()).toEqual([
      "user: one",
      "assistant: first",
      "--- reset",
      "user: two",
      "assistant: fine",
    ]);
    expect(JSON.parse(engine.sentBytes[1] ?? "").map((message: { role: string }) => message.role)).toEqual(["user"]);
  });

  it("that arrives between the read of the inbox and the take still goes first", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    const agentId = await engine.agentId();
    engine.onCommit = ({ site, at }) => {
      if (site !== "take") return "go";
      engine.onCommit = () => "go";
      const message = { body: { kind: "reset", by: "person" }, acceptedAt: at } as const;
      void engine.store.commit({
        id: "in-between" as ChangeId,
        site: "accept",
        at,
        ops: [{ op: "message.post", to: { agentId }, message }],
      });
      return "go";
    };
    await engine.tell("two");
    expect(await engine.transcript()).toEqual([
      "user: one",
      "assistant: answer to one",
      "--- reset",
      "user: two",
      "assistant: answer to two",
    ]);
    expect(await engine.states()).toEqual(["answered", "answered", "recorded"]);
    expect(engine.logged("error")).toEqual([]);
  });

  it("by a person ends the active run, whose partial answer stays in the old session", async () => {
    const engine = await TestEngine.open({ script: (call) => stall(call, new Promise(() => {}), "so far") });
    await engine.tell("one");
    await engine.send({ kind: "reset", by: "person" });
    await engine.settle();
    expect(await engine.transcript()).toEqual(["user: one", "assistant: so far", "--- reset"]);
    expect(await engine.states()).toEqual(["aborted", "recorded"]);
    expect(engine.shown()).toEqual(["Session reset."]);
  });

  it("of the daily kind waits for the end of the active run", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise) });
    await engine.tell("one");
    await engine.send({ kind: "reset", by: "daily" });
    await engine.advance(60_000);
    expect(await engine.states()).toEqual(["taken", "waiting"]);
    hold.open("done");
    await engine.settle();
    expect(await engine.states()).toEqual(["answered", "recorded"]);
  });

  it("keeps the agent's id and its history, changes its session, and opens the new session with the text of the reset", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    const agentId = await engine.agentId();
    const before = await engine.store.agent(agentId);
    const lines = (await engine.entries()).length;
    await engine.send({ kind: "reset", by: "person", text: "be brief" });
    await engine.tell("two");
    const after = await engine.store.agent(agentId);
    expect(after?.sessionId).not.toBe(before?.sessionId);
    expect((await engine.entries()).length).toBe(lines + 3);
    const sent = JSON.parse(engine.sentBytes.at(-1) ?? "");
    expect(sent.map(({ content }: { content: { text: string }[] }) => content[0]?.text)).toEqual([
      `<system_message origin="${agentId}">be brief</system_message>`,
      "two",
    ]);
  });

  it("goes before a message that waits for a place in the lane", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      script: (call) => (lastText(call.request) === "busy" ? stall(call, hold.promise) : "fine"),
      system: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 } },
    });
    await engine.tell("hello", { name: "ann" });
    await engine.tell("busy", { name: "bob" });
    await engine.tell("work", { name: "ann" });
    await engine.send({ kind: "reset", by: "person" }, { name: "ann" });
    await engine.settle();
    hold.open("done");
    await engine.settle();
    const ann = await engine.agentId("ann");
    expect(await engine.states(ann)).toEqual(["answered", "answered", "recorded"]);
    expect((await engine.transcript(ann)).slice(2)).toEqual(["--- reset", "user: work", "assistant: fine"]);
  });

  it("is not hidden by a stale decision about a permission", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: (call) => (call.n === 1 ? stall(call, hold.promise) : "fine") });
    await engine.tell("one");
    await engine.say("two");
    await engine.send({ kind: "permission", runId: "gone" as never, callId: "c", approved: true });
    await engine.send({ kind: "reset", by: "daily" });
    await engine.settle();
    hold.open("first");
    await engine.settle();
    expect(await engine.transcript()).toEqual([
      "user: one",
      "assistant: first",
      "--- reset",
      "user: two",
      "assistant: fine",
    ]);
    expect(await engine.states()).toEqual(["answered", "answered", "recorded", "recorded"]);
  });
});

describe("a stop", () => {
  const busy = () =>
    TestEngine.open({
      script: (call) => (lastText(call.request) === "long" ? stall(call, new Promise(() => {})) : "fine"),
    });
  const stop = (engine: TestEngine) =>
    engine.hosts.get("test")?.command({
      connector: "test",
      userId: "ann",
      channelId: "ann",
      messageId: "stop-1",
      delivery: { channel: "test", to: "ann" },
      command: { name: "stop" },
    });

  it("ends the active run, keeps the session, and lets waiting messages run", async () => {
    const engine = await busy();
    await engine.tell("long");
    await engine.say("two");
    await stop(engine);
    await engine.settle();
    expect(await engine.states()).toEqual(["aborted", "answered", "recorded"]);
    expect((await engine.transcript()).some((line) => line.startsWith("--- reset"))).toBe(false);
    expect(engine.shown()).toHaveLength(2);
  });

  it("without an active run answers that there is nothing to stop; a repeated delivery of it does nothing", async () => {
    const engine = await busy();
    await engine.tell("one");
    await stop(engine);
    await engine.settle();
    expect(engine.shown()).toEqual(["fine", "No active inference to stop."]);
    await engine.tell("long");
    expect(await stop(engine)).toMatchObject({ status: "duplicate" });
    await engine.settle();
    expect((await engine.runs()).at(-1)?.state).toBe("open");
  });
});

describe("silent messages", () => {
  it("are recorded without a model call and are in the context of the next run", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    await engine.send({ kind: "system", text: "it rains", silent: true, origin: "weather" });
    await engine.settle();
    expect(engine.requests).toHaveLength(1);
    expect(await engine.states()).toEqual(["answered", "recorded"]);
    expect(engine.shown()).toEqual(["answer to one"]);
    await engine.tell("two");
    expect(engine.sentBytes.at(-1)).toContain("it rains");
  });

  it("that arrive during a run are recorded after it, never between a call and its result", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "work" }] }),
      tools: { work: { execute: () => hold.promise } },
    });
    await engine.tell("go");
    await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.settle();
    hold.open("worked");
    await engine.settle();
    expect(await engine.transcript()).toEqual([
      "user: go",
      "assistant: work()",
      "tool: worked",
      "assistant: done",
      "user: <system_message>psst</system_message>",
    ]);
  });

  it("survive a crash before they are recorded", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    engine.onCommit = (change) => (change.site === "record" ? "die-before" : "go");
    await engine.send({ kind: "system", text: "psst", silent: true });
    await engine.settle();
    await engine.restart();
    expect(await engine.states()).toEqual(["answered", "recorded"]);
    expect(engine.requests).toHaveLength(1);
  });
});

describe("a drain", () => {
  it("resolves for every caller only when it is complete", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "work" }] }),
      tools: { work: { execute: () => hold.promise } },
    });
    await engine.tell("go");
    const ends: string[] = [];
    const both = [
      engine.system.drain().then(() => ends.push("one")),
      engine.system.drain().then(() => ends.push("two")),
    ];
    await engine.settle();
    expect(ends).toEqual([]);
    hold.open("worked");
    await engine.settle();
    await Promise.all(both);
    expect(ends).toHaveLength(2);
  });

  it("leaves only work open that resumes after the restart", async () => {
    const engine = await TestEngine.open({ script: (call) => stall(call, new Promise(() => {})) });
    await engine.tell("one");
    await engine.say("two");
    await engine.drain();
    expect(await engine.states()).toEqual(["taken", "waiting"]);
    engine.script = ({ request }) => `answer to ${lastText(request)}`;
    await engine.restart();
    expect(engine.shown()).toEqual(["answer to one", "answer to two"]);
  });

  it("keeps messages that are posted during and after it; they are handled after the restart", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    const draining = engine.system.drain();
    await engine.say("two");
    await engine.settle();
    await draining;
    await engine.say("three");
    await engine.say("four", { name: "new person" });
    await engine.settle();
    expect(await engine.states()).toEqual(["answered", "waiting", "waiting"]);
    await engine.restart();
    expect(await engine.states()).toEqual(["answered", "answered", "answered"]);
    expect(engine.shown()).toHaveLength(4);
  });

  it("stops every connector first, even if one of them fails to stop", async () => {
    const engine = await TestEngine.open({ channels: [channel("a"), channel("b")] });
    await expect(engine.drain()).resolves.toBeUndefined();
    expect((await engine.store.nodes()).every(({ left }) => left)).toBe(true);
  });
});

describe("starting", () => {
  it("is refused before loading", async () => {
    const engine = TestEngine.unloaded();
    await expect(engine.system.start()).rejects.toMatchObject({
      code: "invariant",
      message: "AgentSystem must load before starting",
    });
  });

  it("handles messages that were accepted between loading and starting", async () => {
    const engine = TestEngine.unloaded();
    await engine.system.load();
    await engine.say("early");
    await engine.settle();
    expect(await engine.states()).toEqual(["waiting"]);
    await engine.system.start();
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to early"]);
  });
});

describe("connectors", () => {
  it("post a person's message once, even if the channel delivers it several times", async () => {
    const engine = await TestEngine.open();
    const host = engine.hosts.get("test");
    const incoming = {
      connector: "test",
      userId: "u1",
      channelId: "c1",
      messageId: "77",
      text: "hi",
      delivery: { channel: "test", to: "c1" },
    };
    const [one, two] = await Promise.all([host?.accept(incoming), host?.accept(incoming)]);
    await engine.settle();
    expect([one?.status, two?.status].sort()).toEqual(["accepted", "duplicate"]);
    expect(engine.shown()).toHaveLength(1);
    const edited = await host?.accept({ ...incoming, revision: 1, text: "hi there" });
    expect(edited?.status).toBe("accepted");
    const stale = await host?.accept({ ...incoming, messageId: "1", sentAt: 1_000 });
    expect(stale).toEqual({ status: "stale" });
  });

  it("get a message id that contains the agent and the position", async () => {
    const engine = await TestEngine.open();
    const accepted = await engine.hosts.get("test")?.accept({
      connector: "test",
      userId: "u",
      channelId: "c",
      messageId: "1",
      text: "hi",
      delivery: { channel: "test", to: "c" },
    });
    await engine.settle();
    if (!accepted || !("agentId" in accepted)) throw new TypeError("not accepted");
    expect(accepted.messageId).toBe(messageId(accepted.agentId, 1));
  });
});

describe("a message without content", () => {
  it("is recorded with its reason, calls no model, and settles the wait for it", async () => {
    const engine = await TestEngine.open();
    const answer = await engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "  " } });
    expect(answer).toEqual({ result: undefined, ended: { state: "recorded", reason: "it says nothing" } });
    expect([engine.requests.length, engine.shown()]).toEqual([0, []]);
    await engine.tell("hello");
    expect(engine.shown()).toEqual(["answer to hello"]);
    expect(await engine.states()).toEqual(["recorded", "answered"]);
  });
});
