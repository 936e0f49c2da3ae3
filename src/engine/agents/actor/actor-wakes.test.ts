/** When an actor reads its agent and its inbox, and when it rests. Wakes at every moment, with a store that the test holds. No engine. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import { StoreUnavailableError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import { isUrgent } from "../../../core/message/message-order.ts";
import type { Change } from "../../../core/store/change.ts";
import { Lanes } from "../../runs/lanes.ts";
import { DEFAULT_RUN_SETTINGS } from "../../runtime/run-ports.ts";
import { Actor } from "./actor.ts";
import { messageTo } from "./lease.test-kit.ts";

const AGENT = "a".repeat(24) as AgentId;
const NOTE = (seq: number): Message => messageTo({ kind: "system", text: "psst", silent: true }, { seq });
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setImmediate(resolve));
};

function world(given: { restore?: string; restoring?: boolean } = {}) {
  const happened: string[] = [];
  const log: LogLine[] = [];
  const inbox: Message[] = [];
  const clock = virtualClock();
  const state = { draining: false, epoch: 1, node: 3, released: true };
  const { restore = "resume", restoring = false } = given;
  const hooks: {
    onAgent?: () => unknown;
    onWaiting?: () => unknown;
    onCommit?: (change: Change) => unknown;
    onRun?: () => unknown;
  } = {};
  const record = {
    ...{ id: AGENT, sessionId: "s1", leaf: "e1", nextPos: 5, person: "ann", profile: "main", waiting: 0 },
    descriptor: { type: "user", connector: "test", userId: "ann", channelId: "ann" } as object,
    state: freshState(1) as unknown,
  };
  const store = {
    agent: async () => {
      happened.push("agent");
      await hooks.onAgent?.();
      return { ...record, node: state.node, epoch: state.epoch };
    },
    waiting: async (_id: AgentId, { urgent = false }: { urgent?: boolean }) => {
      happened.push("inbox");
      const found = inbox.filter(({ body }) => !urgent || isUrgent(body));
      await hooks.onWaiting?.();
      return found;
    },
    commit: async (change: Change) => {
      happened.push(change.site);
      const refused = await hooks.onCommit?.(change);
      if (refused) return { ok: false, refused, detail: "no" };
      const results = change.ops.map(({ op }) =>
        op === "agent.release" ? { op, released: state.released } : undefined,
      );
      if (change.ops.some(({ op }) => op === "message.settle")) inbox.length = 0;
      return { ok: true, results };
    },
    outcome: async () => undefined,
    runs: async () => [],
    run: async () => {
      happened.push("run");
      return hooks.onRun?.();
    },
  };
  const queue = { dedupe: "none", settingsFor: () => ({ mode: "queue", debounceMs: 0, cap: 9, dropPolicy: "old" }) };
  const host = {
    ports: {
      ...{ store, clock, ids: seededIds("actor"), log: recordingLog(log), posted: () => {}, onDeliveries: () => {} },
      ...{ settings: DEFAULT_RUN_SETTINGS, events: { emit: () => {} }, tools: { find: () => undefined } },
      connectors: new Map([["test", { capabilities: {} }]]),
    },
    ...{ node: 3, queue, restore, restoring: () => restoring, draining: () => state.draining, startedAt: 200 },
    ...{ lanes: new Lanes(), trials: { leave: () => {} }, fates: { read: async () => () => "dead", lookMs: 7 } },
    emit: ({ type, reason }: { type: string; reason?: string }) =>
      void happened.push(reason ? `${type}: ${reason}` : type),
  };
  const actor = new Actor(host as never, AGENT, 1);
  const take = (): readonly string[] => happened.splice(0);
  return { actor, take, happened, inbox, state, hooks, record, clock, log };
}

describe("an actor that is woken", () => {
  it("reads its agent and its inbox, releases the agent and rests", async () => {
    const { actor, take } = world();
    actor.wake(1);
    expect([actor.idle, actor.working !== undefined]).toEqual([false, true]);
    await settle();
    expect([take(), actor.idle, actor.working]).toEqual([["agent", "inbox", "release"], true, undefined]);
  });

  test.each<[string, number, readonly string[]]>([
    ["the next claim: no other node was in between", 2, ["inbox", "release"]],
    ["a later claim: the agent is read again", 3, ["agent", "inbox", "release"]],
    ["the same claim", 1, ["agent", "inbox", "release"]],
    ["an earlier one", 0, ["agent", "inbox", "release"]],
  ])("under %s", async (_title, epoch, expected) => {
    const { actor, take, state } = world();
    actor.wake(1);
    await settle();
    take();
    state.epoch = Math.max(1, epoch);
    actor.wake(epoch);
    await settle();
    expect([take(), actor.epoch]).toEqual([expected, Math.max(1, epoch)]);
  });

  it("reads its agent again if the store did not let it go, and tries that once more", async () => {
    const { actor, take, state, hooks } = world();
    let tries = 0;
    // The second time nothing has come in between.
    hooks.onAgent = () => {
      state.released = tries++ > 0;
    };
    actor.wake(1);
    await settle();
    expect([take(), actor.idle]).toEqual([["agent", "inbox", "release", "agent", "inbox", "release"], true]);
  });

  it("does not read an inbox whose only message it was told", async () => {
    const { actor, take, inbox } = world();
    inbox.push(NOTE(1));
    actor.wake(1, NOTE(1));
    await settle();
    expect(take()).toEqual(["agent", "record", "settled", "inbox", "release"]);
  });

  it("reads its inbox if it was told of a message while it worked: another may wait before it", async () => {
    const { actor, take, inbox } = world();
    actor.wake(1);
    inbox.push(NOTE(1), NOTE(2));
    actor.wake(1, NOTE(2));
    await settle();
    expect(take().slice(0, 4)).toEqual(["agent", "inbox", "record", "settled"]);
  });

  it("reads its inbox after every wake, at whatever moment of its work that comes", async () => {
    for (let moment = 0; moment < 60; moment++) {
      const { actor, happened } = world();
      actor.wake(1);
      for (let turn = 0; turn < moment; turn++) await Promise.resolve();
      const before = happened.length;
      actor.wake(1);
      await settle();
      expect([moment, happened.slice(before).includes("inbox"), actor.idle]).toEqual([moment, true, true]);
    }
  });
});

it("reads its agent again if it was claimed anew while it worked", async () => {
  const { actor, take, inbox, state, hooks } = world();
  inbox.push(NOTE(1));
  hooks.onWaiting = () => {
    hooks.onWaiting = undefined;
    state.epoch = 5;
    actor.wake(5);
  };
  actor.wake(1);
  await settle();
  expect(take().slice(0, 6)).toEqual(["agent", "inbox", "record", "settled", "agent", "inbox"]);
});

test.each<[string, boolean, string]>([
  ["discard", true, "discard"],
  ["discard", false, "record"],
  ["resume", true, "record"],
])(
  "with `restore: %s`, while the node restores (%s), what waited is given up or handled: %s",
  async (restore, restoring, site) => {
    const { actor, take, inbox } = world({ restore, restoring });
    inbox.push(NOTE(1));
    actor.wake(1);
    await settle();
    expect(take().slice(0, 3)).toEqual(["agent", "inbox", site]);
  },
);

describe("a wait of an actor for more parts of a message", () => {
  /** An actor that waits 300 ms for them. */
  async function waiting() {
    const one = world();
    const acceptedAt = one.clock.now();
    one.inbox.push(messageTo({ kind: "user", text: "part", burst: "text" } as never, { seq: 1, acceptedAt }));
    one.actor.wake(1);
    await settle();
    expect([one.take(), one.actor.idle, one.clock.timers]).toEqual([["agent", "inbox"], false, 1]);
    return one;
  }

  it("goes on if it is woken, with one timer", async () => {
    const { actor, take, clock } = await waiting();
    await clock.advance(100, settle);
    actor.wake(1);
    await settle();
    expect([take(), clock.timers, actor.idle]).toEqual([["inbox"], 1, false]);
  });

  it("ends for an urgent message", async () => {
    const { actor, take, inbox, clock } = await waiting();
    inbox.push(messageTo({ kind: "stop" }, { seq: 2 }));
    actor.wake(1);
    await settle();
    expect(take()).toContain("stop");
    expect([clock.timers, actor.idle]).toEqual([0, true]);
  });

  test.each(["drain", "lose"] as const)("ends at once if its node must %s", async (how) => {
    const { actor, state, clock } = await waiting();
    state.draining = true;
    actor[how]();
    await settle();
    expect([actor.idle, clock.timers]).toEqual([true, 0]);
  });
});

describe("a node that drains", () => {
  it("begins nothing", async () => {
    const { actor, take, state } = world();
    state.draining = true;
    actor.wake(1);
    await settle();
    expect([take(), actor.idle]).toEqual([[], true]);
  });

  it("ends the work of an actor after its action, and does not begin again for a wake in between", async () => {
    const { actor, take, state, hooks, inbox } = world();
    inbox.push(NOTE(1));
    hooks.onWaiting = () => {
      state.draining = true;
      actor.wake(1);
    };
    actor.wake(1);
    await settle();
    expect([take(), actor.idle]).toEqual([["agent", "inbox", "record", "settled"], true]);
  });
});

describe("an actor whose commit is refused", () => {
  it("because of a stop drains its inbox at once, with the agent as it is now", async () => {
    const { actor, take, inbox, hooks, record, log } = world();
    inbox.push(NOTE(1));
    hooks.onCommit = () => {
      hooks.onCommit = undefined;
      Object.assign(record, { stopped: { at: 1, reason: "enough", seq: 9 } });
      return "stopped";
    };
    actor.wake(1);
    await settle();
    const drained = ["agent", "agent", "inbox", "record", "settled"];
    expect(take().slice(0, 8)).toEqual(["agent", "inbox", "record", ...drained]);
    expect([actor.idle, log]).toEqual([true, []]);
  });

  it("because the store has changed reads its agent again a little later, and says nothing", async () => {
    const { actor, take, inbox, hooks, clock, log } = world();
    inbox.push(NOTE(1));
    let refusals = 2;
    hooks.onCommit = () => (refusals-- > 0 ? "conflict" : undefined);
    actor.wake(1);
    await clock.advance(99, settle);
    expect(take()).toEqual(["agent", "inbox", "record", "deliveries-unknown"]);
    await clock.advance(200, settle);
    expect(take()).toEqual(["agent", "inbox", "record", "deliveries-unknown"]);
    await clock.advance(1, settle);
    expect(take().slice(0, 4)).toEqual(["agent", "inbox", "record", "settled"]);
    // The next one begins with the shortest wait again.
    inbox.push(NOTE(2));
    refusals = 1;
    actor.wake(1);
    await clock.advance(100, settle);
    expect([actor.idle, log]).toEqual([true, []]);
  });
});

describe("a fault while a run is recovered", () => {
  test.each<[string, Error, number, readonly number[] | undefined]>([
    ["of its own counts as a death of the run", new TypeError("oops"), 2, [3]],
    ["of the store does not", new StoreUnavailableError("away"), 1, undefined],
  ])("%s", async (_title, error, attempt, deaths) => {
    const { actor, hooks, record, clock } = world();
    Object.assign(record, { runId: "r1" });
    const body = {
      lane: "main",
      node: 3,
      seqs: [1],
      calls: [],
      iterations: 0,
      deliveries: 0,
      behalf: { person: "ann" },
    };
    const run = { id: "r1", agentId: AGENT, sessionId: "s1", startedAt: 1, step: 1, attempt: 1, state: "open", body };
    let reads = 0;
    hooks.onRun = () => (reads++ === 0 ? Promise.reject(error) : run);
    const steps: object[] = [];
    hooks.onCommit = ({ ops }) => {
      steps.push(...ops.filter(({ op }) => op === "run.step"));
      return new Promise(() => {});
    };
    actor.wake(1);
    await clock.advance(100, settle);
    expect(steps).toMatchObject([{ op: "run.step", attempt, ...(deaths && { body: { trial: { deaths } } }) }]);
    if (!deaths) expect(steps[0]).not.toHaveProperty("body.trial");
  });
});

describe("an actor that cannot go on", () => {
  it("says nothing if another node holds its agent", async () => {
    const { actor, take, state, log } = world();
    state.node = 4;
    actor.wake(1);
    await settle();
    expect([take(), actor.idle, log]).toEqual([["agent"], true, []]);
  });

  test.each<[string, object]>([
    ["its descriptor", { descriptor: { type: "user", connector: 7 } }],
    ["its state", { state: "broken" }],
  ])("leaves an agent unchanged if %s cannot be read, and says so once", async (_title, broken) => {
    const { actor, take, record, clock } = world();
    Object.assign(record, broken);
    actor.wake(1);
    await clock.advance(60_000, settle);
    expect([take(), actor.idle]).toEqual([["agent", expect.stringMatching(/^degraded: .*agent a{24}/s)], true]);
  });

  it("takes text of the store that is not JSON for corrupt", async () => {
    const { actor, take, hooks, clock } = world();
    hooks.onAgent = () => JSON.parse("{");
    actor.wake(1);
    await clock.advance(60_000, settle);
    expect(take()).toEqual(["agent", expect.stringMatching(/^degraded: /)]);
  });

  test.each<[string, Error, number]>([
    ["a fault of its own", new TypeError("oops"), 1],
    ["a fault of the store", new StoreUnavailableError("away"), 1],
  ])("reads its agent again after %s, a little later", async (_title, error, logged) => {
    const { actor, take, hooks, clock, log } = world();
    let fails = 1;
    hooks.onAgent = () => (fails-- > 0 ? Promise.reject(error) : undefined);
    actor.wake(1);
    await clock.advance(99, settle);
    expect([take(), actor.idle]).toEqual([["agent", "deliveries-unknown"], false]);
    await clock.advance(1, settle);
    expect([take(), actor.idle]).toEqual([["agent", "inbox", "release"], true]);
    expect(log.filter(({ message }) => message === "an agent failed and is read again")).toHaveLength(logged);
  });
});
