import { describe, expect, it } from "vitest";
import { TimeoutError } from "../../core/errors.ts";
import type { AgentId, ChangeId, RunId } from "../../core/ids.ts";
import type { ReplayPolicy } from "../../core/run/run.ts";
import type { Change } from "../../core/store/change.ts";
import { NOT_STARTED, UNKNOWN_OUTCOME } from "../runs/call-tool.ts";
import { channel, dieAt, gate, lastText, Nest, type Script, stall } from "./engine.test-kit.ts";

/** Calls the tool once, then says what the tool said. Looks at the context only, as a model does. */
const useTool =
  (name: string): Script =>
  ({ request }) =>
    request.messages.at(-1)?.role === "tool" ? `done: ${lastText(request, "tool")}` : { call: [{ name }] };

const oneTool = (replay: ReplayPolicy) =>
  Nest.open({ script: useTool("work"), tools: { work: { replay, execute: () => "worked" } } });

describe("a run that was cut off", () => {
  const sites = ["take", "think", "result", "rest"] as const;
  for (const replay of ["safe", "never"] as const) {
    for (const site of sites) {
      for (const moment of ["before", "after"] as const) {
        it(`is answered once where the process died ${moment} the commit of ${site}, with a tool that may ${replay === "safe" ? "" : "not "}be repeated`, async () => {
          const nest = await oneTool(replay);
          nest.fate = dieAt(site, moment);
          await nest.say("go");
          await nest.settle();
          expect(nest.alive).toBe(false);
          await nest.restart();

          const interrupted = (site === "think" && moment === "after") || (site === "result" && moment === "before");
          const outcome = interrupted && replay === "never" ? UNKNOWN_OUTCOME : "worked";
          expect(nest.shown()).toEqual([`done: ${outcome}`]);
          expect(await nest.states()).toEqual(["answered"]);
          expect(await nest.runs()).toMatchObject([{ state: "ended", outcome: "ok" }]);
          expect((await nest.deliveries()).map(({ state }) => state)).toEqual(["sent"]);
          if (replay === "never") expect(nest.executions.length).toBeLessThanOrEqual(1);
          expect(await nest.transcript()).toEqual([
            "user: go",
            "assistant: work()",
            `tool: ${outcome}`,
            `assistant: done: ${outcome}`,
          ]);
        });
      }
    }
  }

  it("repeats a tool that may be repeated under the same call id, so that it can recognise itself", async () => {
    const nest = await oneTool("safe");
    nest.fate = dieAt("result", "before");
    await nest.tell("go");
    await nest.restart();
    expect(nest.executions).toHaveLength(2);
    expect(new Set(nest.executions.map(({ callId, runId }) => `${runId} ${callId}`)).size).toBe(1);
  });

  it("keeps its id, its messages and its beginning over every attempt", async () => {
    const nest = await oneTool("safe");
    nest.fate = dieAt("think", "after");
    await nest.tell("go");
    const [before] = await nest.runs();
    await nest.advance(5_000);
    await nest.restart();
    const [after] = await nest.runs();
    expect(after).toMatchObject({ id: before?.id, startedAt: before?.startedAt, body: { seqs: [1] } });
  });

  it("gives a call that must not be repeated its one result and goes on with the calls after it", async () => {
    const nest = await Nest.open({
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
    nest.fate = dieAt("result", "before", 2);
    await nest.tell("go");
    await nest.restart();
    expect(nest.executions.map(({ name }) => name)).toEqual(["first", "second", "third"]);
    expect(await nest.transcript()).toEqual([
      "user: go",
      "assistant: first() second() third()",
      "tool: one",
      `tool: ${UNKNOWN_OUTCOME}`,
      "tool: three",
      "assistant: done",
    ]);
  });

  it("settles side by side what may be repeated and what may not", async () => {
    const nest = await Nest.open({
      script: ({ request }) =>
        request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "never" }, { name: "safe" }] },
      tools: { never: { replay: "never", parallel: true }, safe: { replay: "safe", parallel: true } },
    });
    nest.fate = dieAt("result", "before");
    await nest.tell("go");
    await nest.restart();
    expect(nest.executions.map(({ name }) => name)).toEqual(["never", "safe", "safe"]);
    expect(await nest.transcript()).toEqual([
      "user: go",
      "assistant: never() safe()",
      `tool: ${UNKNOWN_OUTCOME}`,
      "tool: safe done",
      "assistant: done",
    ]);
  });

  it("goes on before what came after it, in order", async () => {
    const nest = await Nest.open();
    nest.fate = dieAt("take");
    await nest.tell("one");
    await nest.reboot();
    await Promise.all([nest.say("two"), nest.say("three")]);
    await nest.settle();
    expect(nest.shown()).toEqual(["answer to one", "answer to two", "answer to three"]);
  });

  it("ends aborted, unanswered, where its abort was marked before the crash", async () => {
    const hold = gate<string>();
    const nest = await Nest.open({ script: (call) => stall(call, hold.promise) });
    await nest.tell("go");
    const [run] = await nest.runs();
    nest.fate = dieAt("abort", "after");
    void nest.system.abort(run?.id as never);
    await nest.settle();
    expect(nest.alive).toBe(false);
    nest.script = () => "must not be asked";
    const calls = nest.requests.length;
    await nest.restart();
    expect(await nest.runs()).toMatchObject([{ outcome: "aborted" }]);
    expect(await nest.states()).toEqual(["aborted"]);
    expect(nest.requests).toHaveLength(calls);
    expect(nest.shown()).toEqual([]);
  });

  it("is ended by a person's reset that was accepted before the crash", async () => {
    const hold = gate<string>();
    const nest = await Nest.open({ script: (call) => stall(call, hold.promise) });
    await nest.tell("long work");
    nest.fate = (change) => (change.site === "accept" ? "die-after" : "go");
    void nest.send({ kind: "reset", by: "person" });
    await nest.settle();
    expect(nest.alive).toBe(false);
    await nest.restart();
    expect(await nest.states()).toEqual(["aborted", "recorded"]);
    expect(nest.shown()).toEqual(["Session reset."]);
  });

  it("gives every call its one result where the run is ended instead of continued", async () => {
    const nest = await Nest.open({
      script: () => ({ call: [{ name: "work" }, { name: "work" }] }),
      tools: { work: { replay: "never", execute: () => new Promise(() => {}) } },
    });
    await nest.tell("go");
    const [run] = await nest.runs();
    await nest.system.abort(run?.id as never);
    await nest.advance(5_000);
    expect(await nest.transcript()).toEqual([
      "user: go",
      "assistant: work() work()",
      `tool: ${UNKNOWN_OUTCOME}`,
      `tool: ${NOT_STARTED}`,
    ]);
  });
});

describe("attempts", () => {
  const poisoned = () => Nest.open({ script: () => new Promise<never>(() => {}) });

  it("fail the run visibly after the third crash without a new step, and the person is told", async () => {
    const nest = await poisoned();
    await nest.tell("poison");
    for (const attempt of [2, 3]) {
      await nest.restart();
      expect(await nest.runs()).toMatchObject([{ state: "open", attempt }]);
    }
    await nest.restart();
    expect(await nest.runs()).toMatchObject([
      { state: "ended", outcome: "error", body: { error: { kind: "attempts" } } },
    ]);
    expect(await nest.states()).toEqual(["failed"]);
    expect(nest.shown()).toEqual([expect.stringContaining("could not be finished")]);
    expect(nest.channel().calls[0]?.payload.isError).toBe(true);
    expect(nest.requests).toHaveLength(3);
  });

  it("begin anew with every committed step", async () => {
    let stuck = false;
    const nest = await Nest.open({
      script: ({ request }) => (stuck ? new Promise<never>(() => {}) : useTool("work")({ request } as never)),
      tools: { work: {} },
    });
    stuck = true;
    await nest.tell("go");
    await nest.restart();
    await nest.restart();
    expect(await nest.runs()).toMatchObject([{ attempt: 3 }]);
    stuck = false;
    nest.fate = dieAt("result", "after");
    await nest.reboot();
    // The fourth start failed the run: begin another one that makes progress.
    await nest.settle();
    stuck = true;
    await nest.tell("again");
    await nest.restart();
    stuck = false;
    nest.crash();
    await nest.retire();
    nest.fate = dieAt("think", "after");
    await nest.boot();
    await nest.settle();
    expect(nest.alive).toBe(false);
    const run = (await nest.runs()).at(-1);
    expect(run).toMatchObject({ state: "open", attempt: 1 });
    await nest.restart();
    expect(await nest.states()).toEqual(["failed", "answered"]);
  });

  it("do not count a drain", async () => {
    const hold = gate<string>();
    const nest = await Nest.open({ script: (call) => stall(call, hold.promise) });
    await nest.tell("long work");
    for (let times = 0; times < 5; times++) {
      await nest.drain();
      expect(await nest.runs()).toMatchObject([{ state: "open", attempt: 1 }]);
      await nest.restart();
    }
    hold.open("at last");
    await nest.settle();
    expect(nest.shown()).toEqual(["at last"]);
    expect(await nest.states()).toEqual(["answered"]);
  });

  it("count a fault of the program itself as a crash, so that a run it cannot work on ends and is told", async () => {
    const nest = await Nest.open({
      system: {
        voice: () => {
          throw new TypeError("no such profile");
        },
      },
    });
    await nest.tell("hello");
    await nest.advance(5 * 60_000);
    expect(await nest.states()).toEqual(["failed"]);
    expect(nest.shown()).toHaveLength(1);
    expect(nest.logged("error").length).toBeGreaterThan(0);
  });

  it("do not count a lost lease", async () => {
    const nest = await Nest.open({
      script: (call) => stall(call, new Promise(() => {})),
      system: { leaseMs: 8_000 },
    });
    await nest.tell("long work");
    for (let times = 1; times <= 4; times++) {
      const { node } = nest.system;
      nest.fate = (change) => (change.site === "node.renew" ? "full" : "go");
      await nest.advance(12_000);
      nest.fate = () => "go";
      await nest.advance(5_000);
      expect(nest.system.node).toBeGreaterThan(node);
      expect(await nest.runs()).toMatchObject([{ state: "open", attempt: 1 }]);
    }
    nest.script = () => "at last";
    await nest.restart();
    expect(nest.shown()).toEqual(["at last"]);
  });

  it("take back what was counted against a node that was away and has returned", async () => {
    const nest = await Nest.open({
      script: (call) => stall(call, new Promise(() => {})),
      system: { leaseMs: 8_000 },
    });
    await nest.tell("long work");
    const attempts: (number | undefined)[] = [];
    for (let times = 1; times <= 5; times++) {
      const was = nest.system.node;
      // It falls silent; another node takes over when its lease has ended, and cannot know whether it has died.
      nest.crash();
      nest.fate = () => "go";
      await nest.boot();
      await nest.advance(12_000);
      const [run] = await nest.runs();
      attempts.push(run?.attempt);
      expect(run).toMatchObject({ state: "open", body: { node: nest.system.node, blamed: [{ node: was }] } });
      const ops = [{ op: "node.join", name: "returned", leaseUntil: nest.clock.now() + 8_000, was }] as const;
      await nest.store.commit({ id: `return-${was}` as ChangeId, site: "node.join", at: nest.clock.now(), ops });
    }
    expect(attempts).toEqual([2, 2, 2, 2, 2]);
    nest.script = () => "at last";
    await nest.restart();
    expect(nest.shown()).toEqual(["at last"]);
  });

  /** Three nodes in a row fall silent under one run; nobody can tell whether they have died. Gives their numbers. */
  async function threeSilent(nest: Nest): Promise<readonly number[]> {
    await nest.tell("hangs every node");
    const silent: number[] = [];
    for (let times = 1; times <= 3; times++) {
      silent.push(nest.system.node);
      nest.crash();
      nest.fate = () => "go";
      await nest.boot();
      await nest.advance(12_000);
    }
    return silent;
  }
  const shared = () => Nest.open({ script: (call) => stall(call, new Promise(() => {})), system: { leaseMs: 8_000 } });

  it("count nodes that went silent only after they were watched for four leases", async () => {
    const nest = await shared();
    await threeSilent(nest);
    expect(await nest.states()).toEqual(["taken"]);
    await nest.advance(19_000);
    expect([await nest.states(), nest.requests.length]).toEqual([["taken"], 3]);
    await nest.advance(10_000);
    expect(await nest.states()).toEqual(["failed"]);
    expect(nest.requests).toHaveLength(3);
  });

  it.each(["renews its lease", "joins again"])("fail nothing where a watched node %s", async (sign) => {
    const nest = await shared();
    const silent = await threeSilent(nest);
    await nest.advance(10_000);
    nest.script = () => "at last";
    const was = silent[2] as number;
    const at = nest.clock.now();
    const leaseUntil = at + 8_000;
    // It renews by its own clock, which may have stood still.
    const renews = { site: "node.renew", at: at - 20_000, ops: [{ op: "node.renew", node: was, leaseUntil }] } as const;
    const joins = { site: "node.join", at, ops: [{ op: "node.join", name: "returned", leaseUntil, was }] } as const;
    const id = `sign-${was}` as ChangeId;
    const result = await nest.store.commit({ id, ...(sign === "joins again" ? joins : renews) });
    expect(result.ok).toBe(true);
    await nest.advance(5_000);
    expect([nest.shown(), await nest.states()]).toEqual([["at last"], ["answered"]]);
  });

  it("count nodes at once that are known to be dead", async () => {
    const nest = await shared();
    const silent = await threeSilent(nest);
    const ops = silent.map((node) => ({ op: "node.leave", node }) as const);
    await nest.store.commit({ id: "dead" as ChangeId, site: "node.leave", at: nest.clock.now(), ops });
    await nest.advance(3_000);
    expect(await nest.states()).toEqual(["failed"]);
  });

  it("end a run that is watched at once where somebody aborts it", async () => {
    const nest = await shared();
    await threeSilent(nest);
    await nest.system.abort((await nest.runs())[0]?.id as RunId);
    await nest.advance(3_000);
    expect((await nest.runs()).map(({ state }) => state)).toEqual(["ended"]);
  });

  it("do not count a store that cannot be read for a while", async () => {
    const nest = await Nest.open();
    const { linesBack } = nest.store;
    let sick = 10;
    (nest.store as { linesBack: typeof linesBack }).linesBack = async (id, page) => {
      if (sick-- > 0) throw new TimeoutError("The store does not answer.");
      return linesBack(id, page);
    };
    await nest.tell("hello");
    await nest.advance(10 * 60_000);
    expect(nest.shown()).toEqual(["answer to hello"]);
    expect(await nest.runs()).toMatchObject([{ outcome: "ok", attempt: 1 }]);
  });

  it("do not count what the store alone is to blame for", async () => {
    const nest = await Nest.open();
    let sick = true;
    nest.fate = (change) => (sick && change.site === "rest" ? "full" : "go");
    await nest.tell("hello");
    await nest.advance(10 * 60_000);
    expect(await nest.states()).toEqual(["taken"]);
    sick = false;
    await nest.advance(60_000);
    expect(nest.shown()).toEqual(["answer to hello"]);
    expect(await nest.runs()).toMatchObject([{ outcome: "ok" }]);
  });
});

describe("suspects", () => {
  it("resume one at a time, and a poisonous run fails without taking the innocent with it", async () => {
    const names = ["a", "b", "c", "poison", "d"];
    const nest = await Nest.open({ script: () => new Promise<never>(() => {}) });
    for (const name of names) await nest.tell(name, { name });
    // Twice the process dies before anybody has come a step further: from now on all are suspects.
    await nest.restart();
    expect(nest.requests.length).toBe(10);

    const working: string[] = [];
    let most = 0;
    const release = new Map<string, (text: string) => void>();
    nest.script = async ({ request }) => {
      const name = lastText(request);
      working.push(name);
      most = Math.max(most, working.length);
      const text = await new Promise<string>((resolve) => release.set(name, resolve));
      working.splice(working.indexOf(name), 1);
      return text;
    };
    await nest.restart();
    for (let round = 0; round < 20 && working[0] !== "poison"; round++) {
      release.get(working[0] as string)?.("fine");
      await nest.settle();
    }
    expect(most).toBe(1);
    expect(working).toEqual(["poison"]);
    working.length = 0;
    // It kills once more and is then known.
    await nest.restart();
    while (working.length > 0) {
      release.get(working[0] as string)?.("fine");
      await nest.settle();
    }
    expect(most).toBe(1);
    for (const name of names) {
      const [run] = await nest.runs(await nest.agentId(name));
      expect([name, run?.outcome]).toEqual([name, name === "poison" ? "error" : "ok"]);
    }
  });
});

describe('restore: "discard"', () => {
  it("settles what waited and what was under way with a trace, and takes up what comes afterwards", async () => {
    const nest = await Nest.open({ script: () => new Promise<never>(() => {}) });
    await nest.tell("one");
    await nest.tell("two");
    await nest.advance(1_000);
    nest.script = ({ request }) => `answer to ${lastText(request)}`;
    await nest.restart({ restore: "discard" });
    expect(await nest.states()).toEqual(["failed", "discarded"]);
    const [, second] = [...(await nest.store.messages(await nest.agentId(), { limit: 9 }))].reverse();
    expect(second?.reason).toBe("restore: discard");
    await nest.tell("three");
    expect(nest.shown().at(-1)).toBe("answer to three");
    expect(await nest.states()).toEqual(["failed", "discarded", "answered"]);
  });

  it("discards nothing that was accepted by this process, whatever the wall clock does", async () => {
    const nest = await Nest.open({ system: { restore: "discard" } });
    nest.clock.jump(-3600_000);
    await nest.tell("hello");
    expect(await nest.states()).toEqual(["answered"]);
  });
});

describe("an agent that cannot be restored", () => {
  const spoil = async (nest: Nest, agentId: AgentId, what: "descriptor" | "state") => {
    const { agent } = nest.store;
    const store = nest.store as { agent: typeof agent };
    store.agent = async (id) => {
      const record = await agent(id);
      if (!record || id !== agentId) return record;
      return { ...record, [what]: what === "descriptor" ? { type: "alien" } : { version: 99 } } as never;
    };
  };

  for (const what of ["descriptor", "state"] as const) {
    it(`because of its ${what} is listed as degraded, left as it is, and the others go on`, async () => {
      const nest = await Nest.open({ script: () => new Promise<never>(() => {}) });
      await nest.tell("one", { name: "ann" });
      await nest.tell("two", { name: "bob" });
      const ann = await nest.agentId("ann");
      await spoil(nest, ann, what);
      nest.script = ({ request }) => `answer to ${lastText(request)}`;
      const commitsOfAnn = () => nest.commits.filter((change) => change.owner?.agentId === ann).length;
      const before = commitsOfAnn();
      await nest.restart();
      await nest.advance(60_000);
      expect([...nest.system.degraded.keys()]).toEqual([ann]);
      expect(nest.shown()).toEqual(["answer to two"]);
      expect(commitsOfAnn()).toBe(before);
      expect(await nest.states(ann)).toEqual(["taken"]);
    });
  }

  it("because its run's record is gone is listed as degraded", async () => {
    const nest = await Nest.open({ script: () => new Promise<never>(() => {}) });
    await nest.tell("one");
    (nest.store as { run: unknown }).run = async () => undefined;
    await nest.restart();
    expect(nest.system.degraded.size).toBe(1);
    await nest.tell("two", { name: "bob" });
    expect(nest.requests.length).toBeGreaterThan(1);
  });

  it("keeps a broken line of its history and answers from what can be read", async () => {
    const nest = await Nest.open();
    await nest.tell("one");
    await nest.tell("two");
    const { linesBack } = nest.store;
    (nest.store as { linesBack: typeof linesBack }).linesBack = async (id, page) =>
      (await linesBack(id, page)).map((line) => (line.position === 3 ? { ...line, line: "{torn" } : line));
    await nest.restart();
    await nest.tell("three");
    expect(nest.shown().at(-1)).toBe("answer to three");
    expect(nest.logged("warn")).toContain("a line of history was kept and skipped");
  });
});

describe("a commit whose answer was lost", () => {
  const sites = ["take", "think", "result", "rest"];
  for (const fate of ["unknown-applied", "unknown-lost", "full"] as const) {
    for (const site of sites) {
      it(`(${fate}) at ${site} leads to one answer and one end`, async () => {
        const nest = await oneTool("safe");
        nest.fate = (change, nth) => (change.site === site && nth === 1 ? fate : "go");
        await nest.tell("go");
        await nest.advance(2_000);
        expect(nest.shown()).toEqual(["done: worked"]);
        expect(await nest.states()).toEqual(["answered"]);
        expect(nest.alive).toBe(true);
      });
    }
  }

  it("is settled for whoever waits, also where even the outcome could not be read", async () => {
    const nest = await Nest.open();
    nest.fate = (change, nth) => (change.site === "rest" && nth === 1 ? "unknown-applied" : "go");
    const { outcome } = nest.store;
    let deaf = 1;
    (nest.store as { outcome: typeof outcome }).outcome = async (id) => {
      if (deaf-- > 0) throw new TypeError("not now");
      return outcome(id);
    };
    const answer = nest.system.postAndAwait({ ...nest.person(), body: { kind: "user", text: "hi" } });
    await nest.advance(5_000);
    await expect(answer).resolves.toBeDefined();
    expect(nest.shown()).toEqual(["answer to hi"]);
  });
});

describe("several channels after a restart", () => {
  it("each get what they were owed", async () => {
    const nest = await Nest.open({ channels: [channel("test"), channel("other")] });
    nest.fate = (change) => (change.site === "outbox.sending" ? "die-before" : "go");
    await nest.tell("one");
    await nest.restart();
    await nest.tell("two", { on: "other" });
    expect(nest.shown("test")).toEqual(["answer to one"]);
    expect(nest.shown("other")).toEqual(["answer to two"]);
  });
});

describe("a message whose acceptance was not answered", () => {
  it("is answered also where it is applied long after we had looked for it", async () => {
    const nest = await Nest.open();
    const late: Change[] = [];
    nest.fate = (change) => (change.site === "accept" && late.push(change) > 0 ? "unknown-lost" : "go");
    await expect(nest.say("hello")).rejects.toThrow("nobody knows");
    nest.fate = () => "go";
    await nest.advance(3_000);
    // Claimed for this node by a commit nobody here has heard of.
    expect((await nest.store.commit(late[0] as Change)).ok).toBe(true);
    await nest.advance(10_000);
    expect(nest.shown()).toEqual(["answer to hello"]);
  });
});
