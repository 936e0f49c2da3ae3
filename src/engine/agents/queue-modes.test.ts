import { describe, expect, it } from "vitest";
import { configDefaults } from "../../config/config-schema.ts";
import type { RunId } from "../../core/ids.ts";
import type { QueueMode } from "../../core/message/queue.ts";
import { gate, lastText, Nest, type Script, stall } from "./engine.test-kit.ts";

const queue = (mode: QueueMode, more: object = {}) => ({
  queue: { ...configDefaults.queue, byChannel: {}, mode, ...more },
});

/** The first call is held until it is told to go on; it may first ask for a tool. */
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

describe("messages that arrive while a run is active", () => {
  it("are collected into one prompt after the debounce, and end as merged", async () => {
    const { script, go } = held();
    const nest = await Nest.open({ script, system: queue("collect") });
    await nest.tell("one");
    await nest.tell("two");
    await nest.tell("three");
    go();
    await nest.settle();
    expect(nest.shown()).toEqual(["answer to one"]);
    await nest.advance(1_000);
    expect(nest.requests).toHaveLength(2);
    expect(lastText(nest.requests[1] as never)).toBe(
      "[Queued messages while agent was busy]\n\n---\nQueued #1\ntwo\n\n---\nQueued #2\nthree",
    );
    const messages = await nest.store.messages(await nest.agentId(), { limit: 9 });
    expect(messages.map(({ state }) => state)).toEqual(["answered", "merged", "answered"]);
  });

  it.each(["followup", "steer-backlog"] as const)("in mode %s get a run each after the debounce", async (mode) => {
    const { script, go } = held();
    const nest = await Nest.open({ script: async (call) => script(call), system: queue(mode) });
    // Not streaming yet when they come would steer; a stalled call streams, so the other route is used.
    await nest.tell("one");
    await nest.tell("two", { delivery: { channel: "test", to: "elsewhere" } });
    go();
    await nest.settle();
    expect(nest.requests).toHaveLength(1);
    await nest.advance(1_000);
    expect(nest.shown()).toEqual(["answer to one", "answer to two"]);
  });

  it("in mode queue get a run each at once", async () => {
    const { script, go } = held();
    const nest = await Nest.open({ script, system: queue("queue") });
    await nest.tell("one");
    await nest.tell("two");
    go();
    await nest.settle();
    expect(nest.shown()).toEqual(["answer to one", "answer to two"]);
  });

  it("in mode interrupt end the run: what it had said is kept and marked, nothing of it is sent, and they run next", async () => {
    const { script } = held();
    const nest = await Nest.open({ script, system: queue("interrupt") });
    await nest.tell("one");
    await nest.tell("two");
    expect(nest.shown()).toEqual(["answer to two"]);
    expect(await nest.transcript()).toEqual([
      "user: one",
      "assistant: half an ",
      "user: two",
      "assistant: answer to two",
    ]);
    const first = (await nest.store.messages(await nest.agentId(), { limit: 9 })).at(-1);
    expect(first?.state).toBe("aborted");
  });

  it.each(["steer", "steer-backlog"] as const)(
    "in mode %s enter the run at its next step, and are answered with it",
    async (mode) => {
      const { promise, open } = gate<void>();
      let calls = 0;
      const nest = await Nest.open({
        system: queue(mode),
        tools: { look: { execute: () => "seen" } },
        script: async (call) => {
          calls += 1;
          if (calls === 1) return stall(call, promise.then(() => ({ call: [{ name: "look" }] })) as never);
          return `knows ${lastText(call.request)}`;
        },
      });
      await nest.tell("one");
      await nest.tell("two");
      open();
      await nest.settle();
      expect(nest.requests).toHaveLength(2);
      expect(lastText(nest.requests[1] as never)).toBe("two\n[message_id: m2]");
      expect(nest.shown()).toEqual(["knows two\n[message_id: m2]"]);
      const messages = await nest.store.messages(await nest.agentId(), { limit: 9 });
      expect(messages.map(({ state, runId }) => [state, runId])).toEqual(
        messages.map(() => ["answered", messages[0]?.runId]),
      );
    },
  );

  it("survive a crash in every mode", async () => {
    for (const mode of ["collect", "followup", "queue", "steer", "steer-backlog", "interrupt"] as const) {
      const nest = await Nest.open({ script: (call) => stall(call, new Promise(() => {})), system: queue(mode) });
      await nest.tell("one");
      await nest.tell("two", { delivery: { channel: "test", to: "elsewhere" } });
      nest.script = ({ request }) => `answer to ${lastText(request)}`;
      await nest.restart();
      await nest.advance(20_000);
      const messages = await nest.store.messages(await nest.agentId(), { limit: 9 });
      expect(
        messages.every(({ state }) => state !== "waiting" && state !== "taken"),
        mode,
      ).toBe(true);
      expect(nest.shown().join(), mode).toContain("two");
    }
  });

  it("beyond the cap leave their trace and their line in the prompt", async () => {
    const { script, go } = held();
    const nest = await Nest.open({ script, system: queue("collect", { cap: 2 }) });
    await nest.tell("one");
    for (const word of ["two", "three", "four", "five"]) await nest.tell(word);
    go();
    await nest.advance(20_000);
    expect(lastText(nest.requests[1] as never)).toContain(
      "[Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- two\n- three",
    );
    const messages = (await nest.store.messages(await nest.agentId(), { limit: 9 })).toReversed();
    expect(messages.map(({ state }) => state)).toEqual(["answered", "dropped", "dropped", "merged", "answered"]);
    expect(messages[1]?.reason).toBe("cap 2 (summarize)");
    const listed = await nest.system.whatWaits(await nest.agentId());
    expect(listed.dropped.map(({ policy, text }) => [policy, text])).toEqual([
      ["cap 2 (summarize)", "three"],
      ["cap 2 (summarize)", "two"],
    ]);
  });

  it("are listed with what each will do", async () => {
    const { script } = held();
    const nest = await Nest.open({ script, system: queue("collect") });
    await nest.tell("one");
    await nest.tell("two");
    const listed = await nest.system.whatWaits(await nest.agentId());
    expect(listed.run?.state).toBe("streaming");
    expect(listed.waiting).toMatchObject([
      { text: "two", mode: "collect", will: "waits for the run, then joins one prompt with its route" },
    ]);
  });
});

describe("queue settings", () => {
  it("are changed by a person's command, and taken back", async () => {
    const nest = await Nest.open({ system: queue("collect") });
    await nest.tell("one");
    await nest.send({ kind: "setting", queue: { mode: "steer", cap: 3 } });
    await nest.settle();
    const agentId = await nest.agentId();
    expect((await nest.store.agent(agentId))?.state).toMatchObject({ queueMode: "steer", queueCap: 3 });
    expect(nest.shown().at(-1)).toBe("⚙️ Queue: mode steer, cap 3.");
    await nest.send({ kind: "setting", queue: null });
    await nest.settle();
    const { state } = (await nest.store.agent(agentId)) ?? {};
    expect(state && "queueMode" in state).toBe(false);
  });
});

describe("runs as a caller sees them", () => {
  it("have a state, are waited for, and an id nobody knows says so", async () => {
    const { script, go } = held();
    const nest = await Nest.open({ script });
    await nest.tell("one");
    const runId = nest.system.liveRun(await nest.agentId())?.id as RunId;
    expect(await nest.system.runState(runId)).toBe("streaming");
    const waiting = nest.system.waitForRun(runId);
    go();
    await nest.settle();
    expect(await waiting).toMatchObject({ status: "ended", outcome: "ok" });
    expect(await nest.system.runState(runId)).toBe("ended");
    expect(await nest.system.waitForRun(runId)).toMatchObject({ status: "ended", outcome: "ok" });
    expect(await nest.system.runState("nobody" as RunId)).toBe("unknown");
    expect(await nest.system.waitForRun("nobody" as RunId)).toEqual({ status: "unknown" });
    expect(await nest.system.abort("nobody" as RunId)).toBe(false);
    expect(await nest.system.steer("nobody" as RunId, "hi")).toBe(false);
  });

  it("that last longer than a wait leave it with that word", async () => {
    const { script } = held();
    const nest = await Nest.open({ script });
    await nest.tell("one");
    const runId = nest.system.liveRun(await nest.agentId())?.id as RunId;
    const waiting = nest.system.waitForRun(runId, 5_000);
    await nest.advance(5_000);
    expect(await waiting).toEqual({ status: "timeout", state: "streaming" });
  });

  it("that wait for a lane are queued, and can be aborted: their messages never run", async () => {
    const { script, go } = held();
    const nest = await Nest.open({ script, system: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 } } });
    await nest.tell("one");
    await nest.tell("two", { name: "bob" });
    const queued = nest.system.queuedRun(await nest.agentId("bob")) as RunId;
    expect(await nest.system.runState(queued)).toBe("queued");
    expect(await nest.system.abort(queued)).toBe(true);
    go();
    await nest.settle();
    expect(nest.shown()).toEqual(["answer to one"]);
    const [message] = await nest.store.messages(await nest.agentId("bob"), { limit: 9 });
    expect(message).toMatchObject({ state: "aborted", reason: expect.stringContaining(queued) });
  });
});

describe("a session", () => {
  it("that has gone stale ends by itself before a person's next message, and not before a system message", async () => {
    const nest = await Nest.open({ system: { isStale: (_agent, last, now) => now - last > 60_000 } });
    await nest.tell("one");
    await nest.advance(61_000);
    await nest.send({ kind: "system", text: "tick" });
    await nest.settle();
    expect(await nest.transcript()).not.toContain("--- reset");
    await nest.tell("two");
    const transcript = await nest.transcript();
    expect(transcript.indexOf("--- reset")).toBe(transcript.indexOf("user: two") - 1);
    expect(nest.requests.at(-1)?.messages).toHaveLength(1);
  });
});

describe("while it waits for quiet", () => {
  it("does not read all that waits with each message that arrives; what overtakes is seen at once", async () => {
    const door = gate();
    const nest = await Nest.open({
      script: async ({ request }) => {
        if (lastText(request) === "first") await door.promise;
        return "done";
      },
      system: queue("collect"),
    });
    await nest.tell("first");
    await nest.say("second");
    door.open();
    await nest.settle();
    const { waiting } = nest.store;
    let reads = 0;
    (nest.store as { waiting: typeof waiting }).waiting = (agentId, page) => {
      if (!page.urgent) reads += 1;
      return waiting(agentId, page);
    };
    for (let n = 0; n < 50; n++) {
      await nest.say(`more ${n}`);
      await nest.settle();
    }
    expect(reads).toBe(0);
    await nest.send({ kind: "reset", by: "person" });
    await nest.settle();
    expect(nest.shown()).toContain("Session reset.");
  });
});
