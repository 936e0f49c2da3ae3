/** Callers and runs wait for answers, despite store faults, restarts and other nodes. */
import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, type Reply, type Script } from "../../../test/kit/model.ts";
import type { CommitOutcome } from "../../../test/kit/store.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Change } from "../../core/store/change.ts";
import { accepted, commit, LEASE_MS, otherNode, outcomeOf } from "./agent-system.test-kit.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";
import type { PostRequest } from "./message-ingress.ts";

const never: Script = () => new Promise<never>(() => {});
const text = (words: string) => ({ kind: "user", text: words }) as const;
const request = (engine: TestEngine, key?: string): PostRequest => ({ ...engine.person(), body: text("hi"), key });

describe("postAndAwait", () => {
  it("returns the result of the run that took the message", async () => {
    const engine = await TestEngine.open();
    const answer = engine.system.postAndAwait(request(engine));
    await engine.settle();
    expect((await answer).result).toMatchObject({ outcome: "ok", payloads: [{ text: "answer to hi" }] });
  });

  it("rejects with a typed error after half a minute; the message stays and is answered", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: () => hold.promise });
    const answer = outcomeOf(engine.system.postAndAwait(request(engine), { sinceAccepted: true }));
    await engine.advance(29_999);
    expect(answer).toEqual({});
    await engine.advance(1);
    expect(answer.error).toMatchObject({ code: "timeout", retryable: true, message: "No answer within 30000 ms." });
    hold.open("late");
    await engine.settle();
    expect(engine.shown()).toEqual(["late"]);
  });

  it("waits for the earlier message if the same one is posted again", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: () => hold.promise });
    const one = engine.system.postAndAwait(request(engine, "k"));
    await engine.settle();
    const two = engine.system.postAndAwait(request(engine, "k"));
    await engine.settle();
    hold.open("once");
    await engine.advance(2_000);
    expect((await one).result?.runId).toBe((await two).result?.runId);
    expect(engine.requests).toHaveLength(1);
    const three = engine.system.postAndAwait(request(engine, "k"));
    await engine.settle();
    expect((await three).result?.payloads).toMatchObject([{ text: "once" }]);
  });

  it("settles without a result if the message was pruned", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi", { key: "k", source: undefined });
    await commit(engine, { op: "prune", what: "messages", before: Number.MAX_SAFE_INTEGER, limit: 10 });
    const again = engine.system.postAndAwait(request(engine, "k"));
    await engine.settle();
    expect(await again).toEqual({ result: undefined });
  });

  it("resumes after a restart by reading the message again", async () => {
    const engine = await TestEngine.open({ script: never });
    void engine.system.postAndAwait(request(engine, "k"));
    await engine.settle();
    engine.script = () => "after the restart";
    await engine.reboot();
    const again = outcomeOf(engine.system.postAndAwait(request(engine, "k")));
    await engine.advance(2_000);
    expect(again.value?.result?.payloads).toMatchObject([{ text: "after the restart" }]);
  });

  it("rejects a message that is too old for its channel", async () => {
    const engine = await TestEngine.open();
    const source = { connector: "test", messageId: "old", sentAt: engine.clock.now() - 11 };
    const waiting = engine.system.postAndAwait({ ...request(engine), source, replayHorizonMs: 10 });
    await expect(waiting).rejects.toThrow("The message is older than its channel may deliver");
  });

  test.each<[boolean, number, number]>([
    [true, 60_000, 20_000],
    [false, 60_000, 60_000],
    [true, 5_000, 0],
  ])(
    "counts a late caller's timeout from the acceptance if asked (%s, %i ms)",
    async (sinceAccepted, timeoutMs, left) => {
      const engine = await TestEngine.open({ script: never });
      await engine.system.post(request(engine, "k"));
      await engine.advance(40_000);
      const late = outcomeOf(engine.system.postAndAwait(request(engine, "k"), { timeoutMs, sinceAccepted }));
      if (left > 0) await engine.advance(left - 1);
      expect(late).toEqual({});
      await engine.advance(1);
      expect(late.error).toMatchObject({ code: "timeout" });
    },
  );
});

describe("waitForMessage", () => {
  it("returns the answer of a settled message at once", async () => {
    const engine = await TestEngine.open();
    const posted = accepted(await engine.tell("go"));
    const answer = outcomeOf(engine.system.waitForMessage(posted, 60_000));
    await engine.settle();
    expect(answer.value?.result?.payloads).toMatchObject([{ text: "answer to go" }]);
    await engine.drain();
    expect(engine.clock.timers).toBe(0);
  });

  it("returns how a message ended that no run took", async () => {
    const engine = await TestEngine.open();
    await engine.tell("go");
    const posted = accepted(await engine.send({ kind: "system", text: "note", silent: true }));
    const answer = engine.system.waitForMessage(posted, 60_000);
    await engine.settle();
    expect(await answer).toMatchObject({ result: undefined });
    expect(await engine.system.waitForMessage(posted, 60_000)).toMatchObject({ ended: { state: "recorded" } });
  });

  it("tries again if the store cannot be read", async () => {
    const engine = await TestEngine.open();
    const posted = accepted(await engine.tell("go"));
    const read = engine.store.message;
    engine.store.message = async () => Promise.reject(new TypeError("away"));
    const answer = outcomeOf(engine.system.waitForMessage(posted, 60_000));
    await engine.advance(500);
    expect([answer, engine.logged("warn")]).toEqual([{}, ["could not read a message"]]);
    engine.store.message = read;
    await engine.advance(500);
    expect(answer.value?.result?.outcome).toBe("ok");
  });
});

describe("an agent of another node", () => {
  /** Two nodes on one store. The first only accepts; the second answers once it starts. */
  async function nodes(options: Partial<AgentSystemOptions> = {}) {
    const hold = gate<Reply>();
    const engine = TestEngine.unloaded({ script: () => hold.promise, system: { leaseMs: LEASE_MS, ...options } });
    await engine.system.load();
    const other = await otherNode(engine);
    const answer = outcomeOf(engine.system.postAndAwait(request(engine), { timeoutMs: 3600_000 }));
    await engine.settle();
    await other.start();
    await engine.advance(10_300);
    expect([answer, engine.requests.length]).toEqual([{}, 1]);
    hold.open("from afar");
    await engine.settle();
    return { engine, answer };
  }

  it("is heard within a second by polling the store", async () => {
    const { engine, answer } = await nodes();
    expect(answer).toEqual({});
    await engine.advance(1_000);
    expect(answer.value?.result?.payloads).toMatchObject([{ text: "from afar" }]);
    await engine.drain();
  });

  it("is heard at once if its node reports the end of a run", async () => {
    const listeners = new Set<() => void>();
    const remoteNodes = {
      awaitEnd: (_agentId: AgentId, ended: () => void) => {
        listeners.add(ended);
        return () => void listeners.delete(ended);
      },
    };
    const { engine, answer } = await nodes({ remoteNodes });
    expect(answer).toEqual({});
    for (const ended of listeners) ended();
    await engine.settle();
    expect(answer.value?.result?.payloads).toMatchObject([{ text: "from afar" }]);
    expect(listeners.size).toBe(0);
  });
});

interface Asking extends TestEngineOptions {
  /** The key of the question. Default: the id of the call. */
  readonly keyless?: boolean;
  readonly to?: PostRequest["to"];
  /** Bo's answer. */
  readonly bo?: Script;
  /** Ann's answer after the question. */
  readonly last?: Promise<Reply>;
}

/** Ann's agent asks Bo's once with a tool, then says what it heard. */
async function asking({ keyless, to, bo = () => "an answer", last, ...options }: Asking = {}): Promise<TestEngine> {
  const engine: TestEngine = await TestEngine.open({
    ...options,
    script: (call) => {
      if (lastText(call.request).endsWith("question")) return bo(call);
      if (lastText(call.request) !== "go") return "hello";
      if (call.request.messages.at(-1)?.role !== "tool") return { call: [{ name: "ask" }] };
      return last ?? `heard ${lastText(call.request, "tool")}`;
    },
    tools: {
      ask: {
        execute: async (_input, { agentId, callId, signal }) => {
          const { result } = await engine.system.postAndAwait(
            { to: to ?? engine.person("bo").to, body: text("question"), key: keyless ? undefined : callId },
            { from: agentId, signal, timeoutMs: 3600_000 },
          );
          return result?.payloads[0]?.text ?? "nothing";
        },
      },
    },
  });
  return engine;
}
const asks = ({ ops }: Pick<Change, "ops">): boolean => ops.some(({ op }) => op === "wait.begin");

describe("a run that asks another agent", () => {
  test.each<[readonly CommitOutcome[], string]>([
    [["unknown-lost"], "heard an answer"],
    [["unknown-applied"], "heard an answer"],
    [["throw"], "heard the store is confused"],
    [["unknown-lost", "throw"], "heard the outcome is unknown"],
  ])("asks again if the store may have lost the question (%j)", async (outcomes, said) => {
    const engine = await asking();
    const left = [...outcomes];
    engine.onCommit = (change) => (asks(change) ? (left.shift() ?? "go") : "go");
    await engine.tell("go");
    await engine.advance(5_000);
    expect(engine.shown()).toEqual([said]);
    expect(left).toEqual([]);
    if (said === "heard an answer") expect(await engine.states(await engine.agentId("bo"))).toEqual(["answered"]);
  });

  test.each([
    [false, 5],
    [true, 1],
  ])("gives up after some attempts (without a key: %s)", async (keyless, attempts) => {
    const engine = await asking({ keyless });
    let tried = 0;
    engine.onCommit = (change) => {
      if (!asks(change)) return "go";
      tried += 1;
      return "unknown-lost";
    };
    await engine.tell("go");
    await engine.advance(60_000);
    expect(tried).toBe(attempts);
    expect(engine.shown()).toEqual(["heard the outcome is unknown"]);
  });

  it("stops asking when it is aborted", async () => {
    const engine = await asking();
    let tried = 0;
    engine.onCommit = (change) => {
      if (!asks(change)) return "go";
      tried += 1;
      return "unknown-lost";
    };
    await engine.tell("go");
    const [run] = await engine.runs();
    if (run) await engine.system.runs.abort(run.id);
    await engine.advance(60_000);
    expect([tried, await engine.states()]).toEqual([1, ["aborted"]]);
  });

  it("acts for its own people, and the question is theirs too", async () => {
    const engine = await asking();
    await engine.tell("go", { sender: { connector: "test", userId: "ann" } });
    const [question] = await engine.store.messages(await engine.agentId("bo"), { limit: 1 });
    expect(question?.behalf).toMatchObject({ person: "test:ann" });
  });

  it("is a wait in the store until it has the answer, and no longer", async () => {
    const [bo, last] = [gate<Reply>(), gate<Reply>()];
    const engine = await asking({ bo: () => bo.promise, last: last.promise });
    await engine.tell("go");
    const [ann, other] = [await engine.agentId(), await engine.agentId("bo")];
    expect(await engine.store.waits({ limit: 10 })).toMatchObject([{ from: ann, to: other }]);
    bo.open("yes");
    await engine.settle();
    expect((await engine.runs())[0]?.state).toBe("open");
    expect(await engine.store.waits({ limit: 10 })).toEqual([]);
    last.open("done");
    await engine.settle();
    expect(engine.shown()).toEqual(["done"]);
  });

  it("has its answer even if the end of the wait cannot be stored", async () => {
    const engine = await asking();
    engine.onCommit = ({ ops }) => (ops.some(({ op }) => op === "wait.end") ? "throw" : "go");
    await engine.tell("go");
    expect(engine.shown()).toEqual(["heard an answer"]);
    expect(engine.logged("warn")).toContain("a wait could not be ended");
  });

  it("waits no longer when it is aborted", async () => {
    const engine = await asking({ bo: never });
    await engine.tell("go");
    const [run] = await engine.runs();
    if (run) await engine.system.runs.abort(run.id);
    await engine.advance(10_000);
    expect(await engine.states()).toEqual(["aborted"]);
    expect(await engine.store.waits({ limit: 10 })).toEqual([]);
  });

  it("frees its place in the lane, so that the other agent can work", async () => {
    const engine = await asking({ settings: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 } } });
    await engine.tell("go");
    expect(engine.shown()).toEqual(["heard an answer"]);
    expect(engine.system.lanes.counts().main).toEqual({ size: 1, active: 0, waiting: 0 });
  });

  it("waits for the agent that has the question, even if the address leads to another one after a restart", async () => {
    const engine = await asking({
      ...{ to: { strategy: "most-recent-foreground" }, bo: never },
      settings: { owner: { accounts: ["test:bo", "test:carl"] } },
    });
    await engine.tell("hello", { name: "bo" });
    await engine.tell("go");
    const [ann, bo] = [await engine.agentId(), await engine.agentId("bo")];
    await engine.advance(1_000);
    await engine.tell("hello", { name: "carl" });
    await engine.restart();
    const since = engine.clock.now();
    const begun = (await engine.store.waits({ limit: 10 })).filter((wait) => wait.since === since);
    expect(begun).toMatchObject([{ from: ann, to: bo }]);
    expect(await engine.states(await engine.agentId("carl"))).toEqual(["answered"]);
  });

  it("may not close a cycle of waits, and then posts nothing", async () => {
    const agents: Record<string, AgentId> = {};
    const refused: unknown[] = [];
    const engine: TestEngine = await TestEngine.open({
      script: ({ request: asked }) => {
        const words = lastText(asked);
        if (asked.messages.at(-1)?.role === "tool") return `${words}: ${lastText(asked, "tool")}`;
        const [, other] = /ask (ann|bob)/u.exec(words) ?? [];
        return other ? { call: [{ name: "ask", with: { other } }] } : "hello";
      },
      tools: {
        ask: {
          execute: async ({ other }, { agentId }) => {
            const body = { kind: "system", text: other === "bob" ? "ask ann" : "hi" } as const;
            const to = { agentId: agents[String(other)] as AgentId };
            const answer = engine.system.postAndAwait({ to, body }, { from: agentId });
            return answer.then(
              ({ result }) => result?.payloads[0]?.text ?? "nothing",
              (error) => {
                refused.push(error);
                return "refused";
              },
            );
          },
        },
      },
    });
    for (const name of ["ann", "bob"]) agents[name] = accepted(await engine.tell("hi", { name })).agentId;
    await engine.tell("ask bob");
    await engine.advance(1_000);
    expect(refused).toMatchObject([{ code: "wait_cycle" }]);
    expect(engine.shown().at(-1)).toMatch(/^ask bob: .*refused/);
    for (const id of Object.values(agents)) expect(await engine.states(id)).toEqual(["answered", "answered"]);
  });
});
