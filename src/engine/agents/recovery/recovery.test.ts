import { describe, expect, it } from "vitest";
import { channel } from "../../../../test/kit/channel.ts";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, type Script, stall } from "../../../../test/kit/model.ts";
import { dieAt } from "../../../../test/kit/store.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { ReplayPolicy } from "../../../core/run/run.ts";
import type { Change } from "../../../core/store/change.ts";
import { NOT_STARTED, UNKNOWN_OUTCOME } from "../../runs/call-tool.ts";

const missing = "no run" as RunId;

/** Calls the tool once, then answers with its result. Reads the context only, as a model does. */
const useTool =
  (name: string): Script =>
  ({ request }) =>
    request.messages.at(-1)?.role === "tool" ? `done: ${lastText(request, "tool")}` : { call: [{ name }] };

const oneTool = (replay: ReplayPolicy) =>
  TestEngine.open({ script: useTool("work"), tools: { work: { replay, execute: () => "worked" } } });

describe("an interrupted run", () => {
  const sites = ["take", "think", "result", "rest"] as const;
  for (const replay of ["safe", "never"] as const) {
    for (const site of sites) {
      for (const moment of ["before", "after"] as const) {
        it(`is answered once if the process died ${moment} the commit of ${site}, with a tool that may ${replay === "safe" ? "" : "not "}be repeated`, async () => {
          const engine = await oneTool(replay);
          engine.onCommit = dieAt(site, moment);
          await engine.say("go");
          await engine.settle();
          expect(engine.alive).toBe(false);
          await engine.restart();

          const interrupted = (site === "think" && moment === "after") || (site === "result" && moment === "before");
          const outcome = interrupted && replay === "never" ? UNKNOWN_OUTCOME : "worked";
          expect(engine.shown()).toEqual([`done: ${outcome}`]);
          expect(await engine.states()).toEqual(["answered"]);
          expect(await engine.runs()).toMatchObject([{ state: "ended", outcome: "ok" }]);
          expect((await engine.deliveries()).map(({ state }) => state)).toEqual(["sent"]);
          if (replay === "never") expect(engine.executions.length).toBeLessThanOrEqual(1);
          expect(await engine.transcript()).toEqual([
            "user: go",
            "assistant: work()",
            `tool: ${outcome}`,
            `assistant: done: ${outcome}`,
          ]);
        });
      }
    }
  }

  it("logs that it resumes after a crash, and not after a stop", async () => {
    const engine = await TestEngine.open();
    engine.onCommit = dieAt("take", "after");
    await engine.tell("go");
    await engine.restart();
    const [run] = await engine.runs();
    const resumed = () => engine.log.filter(({ message }) => message === "resumed a run after a crash");
    expect(resumed()).toMatchObject([{ level: "info", fields: { run: run?.id, attempt: 2 } }]);
    engine.script = (call) => stall(call, new Promise(() => {}));
    await engine.tell("again");
    await engine.drain();
    engine.script = () => "done";
    await engine.restart();
    expect(engine.shown().at(-1)).toBe("done");
    expect(resumed()).toHaveLength(1);
  });

  it("repeats a repeatable tool under the same call id, so that the tool can detect the repetition", async () => {
    const engine = await oneTool("safe");
    engine.onCommit = dieAt("result", "before");
    await engine.tell("go");
    await engine.restart();
    expect(engine.executions).toHaveLength(2);
    expect(new Set(engine.executions.map(({ callId, runId }) => `${runId} ${callId}`)).size).toBe(1);
  });

  it("keeps its id, its messages and its start time over every attempt", async () => {
    const engine = await oneTool("safe");
    engine.onCommit = dieAt("think", "after");
    await engine.tell("go");
    const [before] = await engine.runs();
    await engine.advance(5_000);
    await engine.restart();
    const [after] = await engine.runs();
    expect(after).toMatchObject({ id: before?.id, startedAt: before?.startedAt, body: { seqs: [1] } });
  });

  it("gives a call that must not be repeated one result and continues with the next calls", async () => {
    const engine = await TestEngine.open({
      script: ({ request }) =>
        request.messages.at(-1)?.role === "tool"
          ? "done"
          : { call: [{ name: "first" }, { name: "second" }, { name: "third" }] },
      tools: {
        first: { replay: "never", execute: () => "one" },
        second: { replay: "never", execute: () => "two" },
        third: { replay: "never", execute: () => "three" },
      },
    });
    engine.onCommit = dieAt("result", "before", 2);
    await engine.tell("go");
    await engine.restart();
    expect(engine.executions.map(({ name }) => name)).toEqual(["first", "second", "third"]);
    expect(await engine.transcript()).toEqual([
      "user: go",
      "assistant: first() second() third()",
      "tool: one",
      `tool: ${UNKNOWN_OUTCOME}`,
      "tool: three",
      "assistant: done",
    ]);
  });

  it("settles calls that may be repeated and calls that may not in one step", async () => {
    const engine = await TestEngine.open({
      script: ({ request }) =>
        request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "never" }, { name: "safe" }] },
      tools: { never: { replay: "never", parallel: true }, safe: { replay: "safe", parallel: true } },
    });
    engine.onCommit = dieAt("result", "before");
    await engine.tell("go");
    await engine.restart();
    expect(engine.executions.map(({ name }) => name)).toEqual(["never", "safe", "safe"]);
    expect(await engine.transcript()).toEqual([
      "user: go",
      "assistant: never() safe()",
      `tool: ${UNKNOWN_OUTCOME}`,
      "tool: safe done",
      "assistant: done",
    ]);
  });

  it("resumes before later messages, which keep their order", async () => {
    const engine = await TestEngine.open();
    engine.onCommit = dieAt("take");
    await engine.tell("one");
    await engine.reboot();
    await Promise.all([engine.say("two"), engine.say("three")]);
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to one", "answer to two", "answer to three"]);
  });

  it("ends as aborted and without an answer if its abort was marked before the crash", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise) });
    await engine.tell("go");
    const [run] = await engine.runs();
    engine.onCommit = dieAt("abort", "after");
    void engine.system.runs.abort(run?.id ?? missing);
    await engine.settle();
    expect(engine.alive).toBe(false);
    engine.script = () => "must not be asked";
    const calls = engine.requests.length;
    await engine.restart();
    expect(await engine.runs()).toMatchObject([{ outcome: "aborted" }]);
    expect(await engine.states()).toEqual(["aborted"]);
    expect(engine.requests).toHaveLength(calls);
    expect(engine.shown()).toEqual([]);
  });

  it("ends by a person's reset that was accepted before the crash", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise) });
    await engine.tell("long work");
    engine.onCommit = (change) => (change.site === "accept" ? "die-after" : "go");
    void engine.send({ kind: "reset", by: "person" });
    await engine.settle();
    expect(engine.alive).toBe(false);
    await engine.restart();
    expect(await engine.states()).toEqual(["aborted", "recorded"]);
    expect(engine.shown()).toEqual(["Session reset."]);
  });

  it("gives every call one result even if the run ends instead of resuming", async () => {
    const engine = await TestEngine.open({
      script: () => ({ call: [{ name: "work" }, { name: "work" }] }),
      tools: { work: { replay: "never", execute: () => new Promise(() => {}) } },
    });
    await engine.tell("go");
    const [run] = await engine.runs();
    await engine.system.runs.abort(run?.id ?? missing);
    await engine.advance(5_000);
    expect(await engine.transcript()).toEqual([
      "user: go",
      "assistant: work() work()",
      `tool: ${UNKNOWN_OUTCOME}`,
      `tool: ${NOT_STARTED}`,
    ]);
  });
});

describe('restore: "discard"', () => {
  it("settles waiting messages and open runs with a trace, and handles later messages", async () => {
    const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
    await engine.tell("one");
    await engine.tell("two");
    await engine.advance(1_000);
    engine.script = ({ request }) => `answer to ${lastText(request)}`;
    await engine.restart({ settings: { runs: { restore: "discard" } } });
    expect(await engine.states()).toEqual(["failed", "discarded"]);
    const [, second] = [...(await engine.store.messages(await engine.agentId(), { limit: 9 }))].reverse();
    expect(second?.reason).toBe("restore: discard");
    await engine.tell("three");
    expect(engine.shown().at(-1)).toBe("answer to three");
    expect(await engine.states()).toEqual(["failed", "discarded", "answered"]);
  });

  it("discards no message that this process accepted, even if the wall clock jumps", async () => {
    const engine = await TestEngine.open({ settings: { runs: { restore: "discard" } } });
    engine.clock.jump(-3600_000);
    await engine.tell("hello");
    expect(await engine.states()).toEqual(["answered"]);
  });
});

describe("an unreadable agent", () => {
  const spoil = async (engine: TestEngine, agentId: AgentId, what: "descriptor" | "state") => {
    const { agent } = engine.store;
    const store = engine.store as { agent: typeof agent };
    store.agent = async (id) => {
      const record = await agent(id);
      if (!record || id !== agentId) return record;
      return Object.assign(
        {},
        record,
        what === "descriptor" ? { descriptor: { type: "alien" } } : { state: { version: 99 } },
      );
    };
  };

  for (const what of ["descriptor", "state"] as const) {
    it(`with a broken ${what} is listed as degraded and not changed, and the other agents work`, async () => {
      const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
      await engine.tell("one", { name: "ann" });
      await engine.tell("two", { name: "bob" });
      const ann = await engine.agentId("ann");
      await spoil(engine, ann, what);
      engine.script = ({ request }) => `answer to ${lastText(request)}`;
      const commitsOfAnn = () => engine.commits.filter((change) => change.owner?.agentId === ann).length;
      const before = commitsOfAnn();
      await engine.restart();
      await engine.advance(60_000);
      expect([...engine.system.degraded.keys()]).toEqual([ann]);
      expect(engine.shown()).toEqual(["answer to two"]);
      expect(commitsOfAnn()).toBe(before);
      expect(await engine.states(ann)).toEqual(["taken"]);
    });
  }

  it("without the record of its run is listed as degraded", async () => {
    const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
    await engine.tell("one");
    (engine.store as { run: unknown }).run = async () => undefined;
    await engine.restart();
    expect(engine.system.degraded.size).toBe(1);
    await engine.tell("two", { name: "bob" });
    expect(engine.requests.length).toBeGreaterThan(1);
  });

  it("answers from the readable lines of its history", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    await engine.tell("two");
    const { linesBack } = engine.store;
    (engine.store as { linesBack: typeof linesBack }).linesBack = async (id, page) =>
      (await linesBack(id, page)).map((line) => (line.position === 3 ? { ...line, line: "{torn" } : line));
    await engine.restart();
    await engine.tell("three");
    expect(engine.shown().at(-1)).toBe("answer to three");
    expect(engine.logged("warn")).toContain("a line of history was kept and skipped");
  });
});

describe("a commit with a lost answer", () => {
  const sites = ["take", "think", "result", "rest"];
  for (const onCommit of ["unknown-applied", "unknown-lost", "full"] as const) {
    for (const site of sites) {
      it(`(${onCommit}) at ${site} leads to one answer and one end`, async () => {
        const engine = await oneTool("safe");
        engine.onCommit = (change, nth) => (change.site === site && nth === 1 ? onCommit : "go");
        await engine.tell("go");
        await engine.advance(2_000);
        expect(engine.shown()).toEqual(["done: worked"]);
        expect(await engine.states()).toEqual(["answered"]);
        expect(engine.alive).toBe(true);
      });
    }
  }

  it("settles its waits, even if the outcome could not be read", async () => {
    const engine = await TestEngine.open();
    engine.onCommit = (change, nth) => (change.site === "rest" && nth === 1 ? "unknown-applied" : "go");
    const { outcome } = engine.store;
    let deaf = 1;
    (engine.store as { outcome: typeof outcome }).outcome = async (id) => {
      if (deaf-- > 0) throw new TypeError("not now");
      return outcome(id);
    };
    const answer = engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "hi" } });
    await engine.advance(5_000);
    await expect(answer).resolves.toBeDefined();
    expect(engine.shown()).toEqual(["answer to hi"]);
  });
});

describe("several channels after a restart", () => {
  it("each get their pending answers", async () => {
    const engine = await TestEngine.open({ channels: [channel("test"), channel("other")] });
    engine.onCommit = (change) => (change.site === "outbox.sending" ? "die-before" : "go");
    await engine.tell("one");
    await engine.restart();
    await engine.tell("two", { on: "other" });
    expect(engine.shown("test")).toEqual(["answer to one"]);
    expect(engine.shown("other")).toEqual(["answer to two"]);
  });
});

describe("a message with an unknown acceptance", () => {
  it("is answered even if its commit is applied long after the store was asked for it", async () => {
    const engine = await TestEngine.open();
    const late: Change[] = [];
    engine.onCommit = (change) => (change.site === "accept" && late.push(change) > 0 ? "unknown-lost" : "go");
    await expect(engine.say("hello")).rejects.toThrow("the outcome is unknown");
    engine.onCommit = () => "go";
    await engine.advance(3_000);
    // This commit claims the agent for this node, which does not know about it.
    expect((await engine.store.commit(late[0] as Change)).ok).toBe(true);
    await engine.advance(10_000);
    expect(engine.shown()).toEqual(["answer to hello"]);
  });
});
