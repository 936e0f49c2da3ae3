/** Views of an agent's work: its waiting messages, a diagnosis of the node, and the status of a conversation. */
import { describe, expect, it, test } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn, lastText, type Reply, stall } from "../../../test/kit/model.ts";
import { TestTools } from "../../../test/kit/tools.ts";
import { DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import type { AgentId } from "../../core/ids.ts";
import type { MessageBody, NewMessage } from "../../core/message/message.ts";
import type { QueueMode } from "../../core/message/queue.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { Op } from "../../core/store/change.ts";
import { accepted, commit, queueOf } from "./agent-system.test-kit.ts";

const user = (mode?: QueueMode, text = "two"): MessageBody => ({ kind: "user", text, queue: mode && { mode } });
const waiting = async (engine: TestEngine): Promise<string[]> =>
  (await engine.system.whatWaits(await engine.agentId())).waiting.map(({ will }) => will);

describe("whatWaits during a run", () => {
  /** Another node accepts a message, so that the run has not seen it yet. */
  async function arriving(engine: TestEngine, body: MessageBody, more: Partial<NewMessage> = {}) {
    await engine.tell("one");
    const agentId = await engine.agentId();
    const message = { body, acceptedAt: engine.clock.now(), delivery: engine.person().delivery, ...more };
    await commit(engine, { op: "message.post", to: { agentId }, message });
    const { run, waiting: lines } = await engine.system.whatWaits(agentId);
    return { state: run?.state, will: lines[0]?.will.replace(run?.id ?? "", "RUN") };
  }
  const streaming = () => TestEngine.open({ script: (call) => stall(call, new Promise(() => {})) });

  test.each<[string, MessageBody, string, Partial<NewMessage>?]>([
    ["a steered message", user("steer"), "enters the run at its next step"],
    ["a collected message", user("collect"), "waits for the run, then joins one prompt with its route"],
    ["a queued message", user("queue"), "waits for the run, then runs in its turn"],
    ["an interrupting message", user("interrupt"), "ends the run and runs next"],
    ["a stop", { kind: "stop" }, "ends the run"],
    ["a person's reset", { kind: "reset", by: "person" }, "ends the run"],
    ["a command", { kind: "command", name: "status", text: "" }, "is answered at the next step of the run"],
    [
      "a steered message of another person",
      user("steer"),
      "waits for the run, then runs in its turn",
      { behalf: { person: "bob" as PersonId } },
    ],
    [
      "a steered message for another route",
      user("steer"),
      "waits for the run, then runs in its turn",
      { delivery: { channel: "test", to: "elsewhere" } },
    ],
  ])("says what happens to %s", async (_title, body, will, more) => {
    expect(await arriving(await streaming(), body, more)).toEqual({ state: "streaming", will });
  });

  it("does not announce steering while a tool runs", async () => {
    const tools = new TestTools({ dig: {} });
    const held = tools.hold("dig");
    const engine = await TestEngine.open({ tools: tools.specs, script: inTurn({ call: [{ name: "dig" }] }, "done") });
    const { will } = await arriving(engine, user("steer-backlog"));
    expect(will).toBe("waits for the run, then runs in its turn");
    held.release();
    await engine.settle();
  });
});

describe("whatWaits at rest", () => {
  /** Messages that are accepted before the node starts. */
  async function accepting(mode: QueueMode, bodies: readonly MessageBody[], cap = 20): Promise<TestEngine> {
    const queue = queueOf({ mode, cap });
    const engine = TestEngine.unloaded({ settings: { queue } });
    await engine.system.load();
    for (const body of bodies) await engine.send(body);
    return engine;
  }
  const [two, three] = [user(undefined, "two"), user(undefined, "three")];

  test.each<[string, QueueMode, readonly MessageBody[], readonly string[], number?]>([
    ["one message", "collect", [two], ["runs next"]],
    [
      "collected messages",
      "collect",
      [two, three],
      ["runs next, in one prompt with others", "runs next, in one prompt with others"],
    ],
    ["queued messages", "queue", [two, three], ["runs next", "waits its turn"]],
    ["a reset", "queue", [two, { kind: "reset", by: "person" }], ["waits its turn", "is handled next (reset)"]],
    ["a stop", "queue", [{ kind: "stop" }], ["is handled next (stop)"]],
    ["a silent note", "queue", [{ kind: "system", text: "x", silent: true }], ["is handled next (record)"]],
    ["a setting", "queue", [{ kind: "setting" }, two], ["is handled next (settle)", "waits its turn"]],
    ["more messages than may wait", "queue", [two, three], ["will be dropped", "runs next"], 1],
  ])("says what happens to %s", async (_title, mode, bodies, will, cap) => {
    expect(await waiting(await accepting(mode, bodies, cap))).toEqual(will);
  });

  it("lists kind, mode and the beginning of each text, and what was dropped and why", async () => {
    const engine = await accepting("queue", [user(undefined, "two\nlines"), { kind: "compact" }, three]);
    const agentId = await engine.agentId();
    await engine.system.dropMessage({ agentId, seq: 3, by: { person: "olga", surface: "cli" } });
    const found = await engine.system.whatWaits(agentId);
    expect(found).toMatchObject({
      ...{ agentId, dropped: [{ seq: 3, policy: "dropped by olga", text: "three" }] },
      waiting: [
        { seq: 1, kind: "user", text: "two lines", acceptedAt: engine.clock.now(), mode: "queue" },
        { seq: 2, kind: "compact", text: "" },
      ],
    });
    expect(found.run).toBeUndefined();
  });

  it("says until when messages of the last run wait for quiet", async () => {
    const hold = gate<Reply>();
    const queue = queueOf({ mode: "collect", debounceMs: 1_000 });
    const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise), settings: { queue } });
    await engine.tell("one");
    await engine.tell("two");
    hold.open("done");
    await engine.settle();
    const until = new Date(engine.clock.now() + 1_000).toISOString();
    expect(await waiting(engine)).toEqual([`waits until it has been quiet, at the latest until ${until}`]);
  });

  it("rejects an unknown agent", async () => {
    const { system } = await TestEngine.open();
    await expect(system.whatWaits("x".repeat(24) as AgentId)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("diagnose", () => {
  it("lists running, waiting and failed work without any text of messages", async () => {
    const test = channel("test");
    test.sending = () => ({ status: "refused", reason: "blocked" });
    const tools = new TestTools({ dig: {} });
    const held = tools.hold("dig");
    const engine = await TestEngine.open({
      ...{ channels: [test], tools: tools.specs },
      script: ({ request }) => (lastText(request).includes("secret") ? { call: [{ name: "dig" }] } : "hello"),
    });
    await engine.tell("hello", { name: "bob" });
    for (let n = 0; n < 5; n++) await engine.tell(`my secret ${n}`);
    const job = (id: string, state: CronJob["state"]): Op => ({
      op: "job.put",
      job: {
        ...{
          id,
          state,
          name: "n",
          enabled: true,
          createdAtMs: 1,
          updatedAtMs: 1,
          sessionTarget: "main",
          wakeMode: "now",
        },
        schedule: { kind: "every", everyMs: 1e9 },
        payload: { kind: "systemEvent", text: "secret" },
      },
    });
    await commit(engine, job("bad", { lastStatus: "error", lastError: "e" }), job("good", { lastStatus: "ok" }));
    await engine.advance(5_000);
    const found = await engine.system.diagnose();
    const next = { kind: "user", forMs: 5_000, will: "waits for the run, then runs in its turn" };
    expect(found.busy).toMatchObject([
      {
        ...{ agentId: await engine.agentId(), kind: "user", held: true, waiting: 4, next: [next, next, next] },
        run: { forMs: 5_000, attempt: 1, iterations: 1, calls: ["dig (intended)"] },
      },
    ]);
    expect(found.deadLetters).toMatchObject([{ state: "failed", reason: "blocked", channel: "test" }]);
    expect(found.lanes.main).toMatchObject({ active: 1 });
    expect(found.failedJobs).toEqual([{ id: "bad", name: "n", error: "e" }]);
    expect([found.more, found.degraded, found.waits]).toEqual([false, [], []]);
    expect(JSON.stringify(found)).not.toContain("secret");
    held.release();
    await engine.drain();
  });

  it("shows since when an agent waits for another, and the reason of a stop and an abort", async () => {
    const engine: TestEngine = await TestEngine.open({
      script: (call) =>
        lastText(call.request) === "ask" ? { call: [{ name: "ask" }] } : stall(call, new Promise(() => {})),
      tools: {
        ask: {
          execute: async (_input, { agentId }) => {
            await engine.system.postAndAwait({ ...engine.person("bob"), body: user() }, { from: agentId });
            return "asked";
          },
        },
      },
    });
    await engine.tell("ask");
    await engine.advance(7_000);
    const [ann, bob] = [await engine.agentId(), await engine.agentId("bob")];
    expect((await engine.system.diagnose()).waits).toEqual([
      { from: ann, to: bob, fromName: "ann on test", toName: "ann on test", sinceMs: 7_000 },
    ]);
    const [run] = await engine.runs(bob);
    if (!run) throw new TypeError("no run");
    engine.crash();
    await commit(
      engine,
      { op: "run.abort", runId: run.id, mark: { reason: "person", at: 1 } },
      { op: "agent.stop", agentId: bob, mark: { at: 1, reason: "enough" } },
    );
    engine.make();
    const { busy } = await engine.system.diagnose();
    expect(busy.find(({ agentId }) => agentId === bob)).toMatchObject({ stopped: "enough", run: { abort: "person" } });
  });

  it("lists fifty busy agents at most and says that there are more", async () => {
    const engine = TestEngine.unloaded();
    await engine.system.load();
    const found = async () => {
      const { busy, more } = await engine.system.diagnose();
      return [busy.length, more, busy[0]?.run];
    };
    for (let n = 0; n < 50; n++) await engine.say("hi", { name: `p${n}` });
    expect(await found()).toEqual([50, false, undefined]);
    await engine.say("hi", { name: "p50" });
    expect(await found()).toEqual([50, true, undefined]);
  });
});

describe("describe", () => {
  const conversation = { profile: "main", channel: "test" };

  it("has defaults for a conversation that has not begun", async () => {
    const queue = queueOf({ byChannel: { test: { mode: "steer" } } });
    const { system } = await TestEngine.open({ settings: { queue } });
    expect(await system.describe(conversation)).toEqual({
      ...{ model: null, why: null, thinking: null, verbose: null, reasoning: null, queueMode: "steer", logins: [] },
      ...{ refusedKeys: [], context: { used: null, window: null }, today: { tokens: 0, dollars: 0 } },
    });
  });

  it("shows the model, the levels, the context and today's cost of a conversation", async () => {
    const login = { provider: "p", profile: "main", state: "valid", expiresAt: null, loggedInAt: 0 } as const;
    const engine = await TestEngine.open({
      system: {
        contextLimits: () => ({ ...DEFAULT_CONTEXT_LIMITS, contextWindow: 99_000 }),
        commands: {
          models: {
            describe: async ({ profile, state }) => ({
              ...{ model: `of ${profile}`, why: "w", thinking: state.thinkingLevel, choices: [], logins: [login] },
            }),
            problem: async () => undefined,
          },
          dayStart: (now) => now - 60_000,
        },
      },
    });
    const { agentId } = accepted(await engine.tell("hi"));
    await engine.system.sessions.patch(agentId, { thinkingLevel: "high", verboseLevel: "on", reasoningLevel: "off" });
    await engine.settle();
    const agent = await engine.store.agent(agentId);
    const described = () => engine.system.describe({ ...conversation, agent });
    expect(await described()).toMatchObject({
      ...{ model: "of main", why: "w", thinking: "high", verbose: "on", reasoning: "off", logins: [login] },
      ...{ context: { used: 15, window: 99_000 }, today: { tokens: 15 } },
    });
    const ofOthers = { ...conversation, agent, counts: () => false };
    expect((await engine.system.describe(ofOthers)).today.tokens).toBe(0);
    await engine.advance(60_001);
    expect((await described()).today.tokens).toBe(0);
    expect(await engine.system.describe({ ...conversation, profile: "work" })).toMatchObject({ model: "of work" });
  });

  it("counts the cost of one day by default", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    engine.clock.jump(24 * 3600_000);
    expect((await engine.system.describe(conversation)).today.tokens).toBe(15);
    engine.clock.jump(1);
    expect((await engine.system.describe(conversation)).today.tokens).toBe(0);
  });
});
