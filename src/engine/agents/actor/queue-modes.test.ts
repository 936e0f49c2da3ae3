import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, type Reply, type Script, stall } from "../../../../test/kit/model.ts";
import { configDefaults } from "../../../config/config-schema.ts";
import type { RunId } from "../../../core/ids.ts";
import type { QueueMode } from "../../../core/message/queue.ts";

const queue = (mode: QueueMode, more: object = {}) => ({
  queue: { ...configDefaults.queue, byChannel: {}, mode, ...more },
});

/** Holds the first model call until `go` is called. */
function held(): { script: Script; go: () => void } {
  const { promise, open } = gate<void>();
  let calls = 0;
  return {
    go: () => open(),
    script: async (call) => {
      calls += 1;
      const answer = `answer to ${lastText(call.request)}`;
      return calls === 1
        ? stall(
            call,
            promise.then(() => answer),
            "half an ",
          )
        : answer;
    },
  };
}

describe("a message during a run", () => {
  it("is collected into one prompt after the debounce, and ends as merged", async () => {
    const { script, go } = held();
    const engine = await TestEngine.open({ script, settings: queue("collect") });
    await engine.tell("one");
    await engine.tell("two");
    await engine.tell("three");
    go();
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to one"]);
    await engine.advance(1_000);
    expect(engine.requests).toHaveLength(2);
    expect(engine.heard(1).at(-1)).toBe(
      "[Queued messages while agent was busy]\n\n---\nQueued #1\ntwo\n\n---\nQueued #2\nthree",
    );
    const messages = await engine.store.messages(await engine.agentId(), { limit: 9 });
    expect(messages.map(({ state }) => state)).toEqual(["answered", "merged", "answered"]);
  });

  it.each([
    ["at the same time", 0],
    ["later, but before its actor has noticed", 5],
  ])("does not wait for the debounce if it comes after the end: %s", async (_, ms) => {
    const engine = await TestEngine.open({ settings: queue("collect") });
    const { commit } = engine.store;
    (engine.store as { commit: typeof commit }).commit = async (change) => {
      const result = await commit(change);
      if (engine.requests.length === 1 && change.ops.some(({ op }) => op === "run.end")) {
        await engine.clock.advance(ms);
        if (ms > 0) await engine.say("two");
      }
      return result;
    };
    await engine.tell("one");
    if (ms === 0) await engine.tell("two");
    expect(engine.requests.map((request) => lastText(request))).toEqual(["one", "two"]);
  });

  it.each(["followup", "steer-backlog"] as const)(
    "gets a run of its own after the debounce in mode %s",
    async (mode) => {
      const { script, go } = held();
      const engine = await TestEngine.open({ script: async (call) => script(call), settings: queue(mode) });
      // The stalled call streams, so steer-backlog would steer a message of the same route. "two" has another route.
      await engine.tell("one");
      await engine.tell("two", { delivery: { channel: "test", to: "elsewhere" } });
      go();
      await engine.settle();
      expect(engine.requests).toHaveLength(1);
      await engine.advance(1_000);
      expect(engine.shown()).toEqual(["answer to one", "answer to two"]);
    },
  );

  it("gets a run of its own at once in mode queue", async () => {
    const { script, go } = held();
    const engine = await TestEngine.open({ script, settings: queue("queue") });
    await engine.tell("one");
    await engine.tell("two");
    go();
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to one", "answer to two"]);
  });

  it("ends the run in mode interrupt; the partial answer stays in history and is not sent", async () => {
    const { script } = held();
    const engine = await TestEngine.open({ script, settings: queue("interrupt") });
    await engine.tell("one");
    await engine.tell("two");
    expect(engine.shown()).toEqual(["answer to two"]);
    expect(await engine.transcript()).toEqual([
      "user: one",
      "assistant: half an ",
      "user: two",
      "assistant: answer to two",
    ]);
    const first = (await engine.store.messages(await engine.agentId(), { limit: 9 })).at(-1);
    expect(first?.state).toBe("aborted");
  });

  it.each(["steer", "steer-backlog"] as const)("enters the run at its next step in mode %s", async (mode) => {
    const { promise, open } = gate<void>();
    const looks = promise.then((): Reply => ({ call: [{ name: "look" }] }));
    let calls = 0;
    const engine = await TestEngine.open({
      settings: queue(mode),
      tools: { look: { execute: () => "seen" } },
      script: async (call) => {
        calls += 1;
        if (calls === 1) return stall(call, looks);
        return `knows ${lastText(call.request)}`;
      },
    });
    await engine.tell("one");
    await engine.tell("two");
    open();
    await engine.settle();
    expect(engine.requests).toHaveLength(2);
    expect(engine.heard(1).at(-1)).toBe("two\n[message_id: m2]");
    expect(engine.shown()).toEqual(["knows two\n[message_id: m2]"]);
    const messages = await engine.store.messages(await engine.agentId(), { limit: 9 });
    expect(messages.map(({ state, runId }) => [state, runId])).toEqual(
      messages.map(() => ["answered", messages[0]?.runId]),
    );
  });

  it("survives a crash in every mode", async () => {
    for (const mode of ["collect", "followup", "queue", "steer", "steer-backlog", "interrupt"] as const) {
      const engine = await TestEngine.open({
        script: (call) => stall(call, new Promise(() => {})),
        settings: queue(mode),
      });
      await engine.tell("one");
      await engine.tell("two", { delivery: { channel: "test", to: "elsewhere" } });
      engine.script = ({ request }) => `answer to ${lastText(request)}`;
      await engine.restart();
      await engine.advance(20_000);
      const messages = await engine.store.messages(await engine.agentId(), { limit: 9 });
      expect(
        messages.every(({ state }) => state !== "waiting" && state !== "taken"),
        mode,
      ).toBe(true);
      expect(engine.shown().join(), mode).toContain("two");
    }
  });

  it("leaves a trace and a line in the prompt above the cap", async () => {
    const { script, go } = held();
    const engine = await TestEngine.open({ script, settings: queue("collect", { cap: 2 }) });
    await engine.tell("one");
    for (const word of ["two", "three", "four", "five"]) await engine.tell(word);
    go();
    await engine.advance(20_000);
    expect(engine.heard(1).at(-1)).toContain(
      "[Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- two\n- three",
    );
    const messages = (await engine.store.messages(await engine.agentId(), { limit: 9 })).toReversed();
    expect(messages.map(({ state }) => state)).toEqual(["answered", "dropped", "dropped", "merged", "answered"]);
    expect(messages[1]?.reason).toBe("cap 2 (summarize)");
    const listed = await engine.system.whatWaits(await engine.agentId());
    expect(listed.dropped.map(({ policy, text }) => [policy, text])).toEqual([
      ["cap 2 (summarize)", "three"],
      ["cap 2 (summarize)", "two"],
    ]);
  });

  it("is not dropped if a program sent it, also beside a chat above its cap", async () => {
    const { script, go } = held();
    const engine = await TestEngine.open({ script, settings: queue("collect", { cap: 2 }) });
    await engine.tell("one");
    const [to, { delivery }] = [{ agentId: await engine.agentId() }, engine.person()];
    const program = (text: string) => engine.tell(text, { to, delivery, source: { connector: "webhook" } });
    for (const word of ["two", "three", "four"]) await program(`program ${word}`);
    for (const word of ["two", "three", "four"]) await engine.tell(`chat ${word}`);
    for (const word of ["five", "six", "seven"]) await program(`program ${word}`);
    go();
    await engine.advance(60_000);
    const answered = engine.shown().filter((text) => /^answer to program \w+$/.test(text));
    expect(answered).toEqual(["two", "three", "four", "five", "six", "seven"].map((n) => `answer to program ${n}`));
    const dropped = await engine.store.messages(to.agentId, { limit: 20, states: ["dropped"] });
    expect(dropped.map(({ body }) => ("text" in body ? body.text : ""))).toEqual(["chat two"]);
  });

  it("is listed with what will happen to it", async () => {
    const { script } = held();
    const engine = await TestEngine.open({ script, settings: queue("collect") });
    await engine.tell("one");
    await engine.tell("two");
    const listed = await engine.system.whatWaits(await engine.agentId());
    expect(listed.run?.state).toBe("streaming");
    expect(listed.waiting).toMatchObject([
      { text: "two", mode: "collect", will: "waits for the run, then joins one prompt with its route" },
    ]);
  });
});

describe("queue settings", () => {
  it("change and clear by a person's command", async () => {
    const engine = await TestEngine.open({ settings: queue("collect") });
    await engine.tell("one");
    await engine.send({ kind: "setting", queue: { mode: "steer", cap: 3 } });
    await engine.settle();
    const agentId = await engine.agentId();
    expect((await engine.store.agent(agentId))?.state).toMatchObject({ queueMode: "steer", queueCap: 3 });
    expect(engine.shown().at(-1)).toBe("⚙️ Queue: mode steer, cap 3.");
    await engine.send({ kind: "setting", queue: null });
    await engine.settle();
    const { state } = (await engine.store.agent(agentId)) ?? {};
    expect(state && "queueMode" in state).toBe(false);
  });
});

describe("RunControl", () => {
  it("reports the state of a run, awaits its end, and knows no unknown id", async () => {
    const { script, go } = held();
    const engine = await TestEngine.open({ script });
    await engine.tell("one");
    const runId = engine.system.runs.live(await engine.agentId())?.id as RunId;
    expect(await engine.system.runs.state(runId)).toBe("streaming");
    const waiting = engine.system.runs.wait(runId);
    go();
    await engine.settle();
    expect(await waiting).toMatchObject({ status: "ended", outcome: "ok" });
    expect(await engine.system.runs.state(runId)).toBe("ended");
    expect(await engine.system.runs.wait(runId)).toMatchObject({ status: "ended", outcome: "ok" });
    expect(await engine.system.runs.state("nobody" as RunId)).toBe("unknown");
    expect(await engine.system.runs.wait("nobody" as RunId)).toEqual({ status: "unknown" });
    expect(await engine.system.runs.abort("nobody" as RunId)).toBe(false);
    expect(await engine.system.runs.steer("nobody" as RunId, "hi")).toBe(false);
  });

  it("ends a wait that is shorter than the run with status timeout", async () => {
    const { script } = held();
    const engine = await TestEngine.open({ script });
    await engine.tell("one");
    const runId = engine.system.runs.live(await engine.agentId())?.id as RunId;
    const waiting = engine.system.runs.wait(runId, 5_000);
    await engine.advance(5_000);
    expect(await waiting).toEqual({ status: "timeout", state: "streaming" });
  });

  it("aborts a run that waits for a lane, and its messages never run", async () => {
    const { script, go } = held();
    const engine = await TestEngine.open({ script, settings: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 } } });
    await engine.tell("one");
    await engine.tell("two", { name: "bob" });
    const queued = engine.system.runs.queued(await engine.agentId("bob")) as RunId;
    expect(await engine.system.runs.state(queued)).toBe("queued");
    expect(await engine.system.runs.abort(queued)).toBe(true);
    go();
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to one"]);
    const [message] = await engine.store.messages(await engine.agentId("bob"), { limit: 9 });
    expect(message).toMatchObject({ state: "aborted", reason: "the run was aborted before it began" });
  });
});

describe("a stale session", () => {
  it("ends before a person's next message, and not before a system message", async () => {
    const engine = await TestEngine.open({ settings: { session: { reset: { mode: "idle", idleMinutes: 1 } } } });
    await engine.tell("one");
    await engine.advance(61_000);
    await engine.send({ kind: "system", text: "tick" });
    await engine.settle();
    expect(await engine.transcript()).not.toContain("--- reset");
    await engine.tell("two");
    const transcript = await engine.transcript();
    expect(transcript.indexOf("--- reset")).toBe(transcript.indexOf("user: two") - 1);
    expect(engine.requests.at(-1)?.messages).toHaveLength(1);
  });
});

describe("a debounce", () => {
  it("does not read the whole inbox for each new message, and lets an urgent message pass", async () => {
    const door = gate();
    const engine = await TestEngine.open({
      script: async ({ request }) => {
        if (lastText(request) === "first") await door.promise;
        return "done";
      },
      settings: queue("collect"),
    });
    await engine.tell("first");
    await engine.say("second");
    door.open();
    await engine.settle();
    const { waiting } = engine.store;
    let reads = 0;
    (engine.store as { waiting: typeof waiting }).waiting = (agentId, page) => {
      if (!page.urgent) reads += 1;
      return waiting(agentId, page);
    };
    for (let n = 0; n < 50; n++) {
      await engine.say(`more ${n}`);
      await engine.settle();
    }
    expect(reads).toBe(0);
    await engine.send({ kind: "reset", by: "person" });
    await engine.settle();
    expect(engine.shown()).toContain("Session reset.");
  });
});
