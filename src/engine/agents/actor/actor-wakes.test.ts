/** When an actor reads its agent and its inbox, and when it rests. Wakes at every moment, with a store that the test holds. No engine. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import { StoreUnavailableError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { Change } from "../../../core/store/change.ts";
import { Actor } from "./actor.ts";
import { messageTo } from "./lease.test-kit.ts";

const AGENT = "a".repeat(24) as AgentId;
const NOTE = (seq: number): Message => messageTo({ kind: "system", text: "psst", silent: true }, { seq });
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setImmediate(resolve));
};

function world() {
  const happened: string[] = [];
  const log: LogLine[] = [];
  const inbox: Message[] = [];
  const clock = virtualClock();
  const state = { draining: false, epoch: 1, node: 3, released: true };
  const hooks: { onAgent?: () => unknown; onWaiting?: () => unknown; onCommit?: (change: Change) => unknown } = {};
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
    waiting: async () => {
      happened.push("inbox");
      const found = [...inbox];
      await hooks.onWaiting?.();
      return found;
    },
    commit: async (change: Change) => {
      happened.push(change.site);
      await hooks.onCommit?.(change);
      const results = change.ops.map(({ op }) =>
        op === "agent.release" ? { op, released: state.released } : undefined,
      );
      if (change.ops.some(({ op }) => op === "message.settle")) inbox.length = 0;
      return { ok: true, results };
    },
    outcome: async () => undefined,
  };
  const queue = { dedupe: "none", settingsFor: () => ({ mode: "queue", debounceMs: 0, cap: 9, dropPolicy: "old" }) };
  const host = {
    ports: { store, clock, ids: seededIds("actor"), log: recordingLog(log) },
    ...{ node: 3, queue, restore: "resume", restoring: () => false, draining: () => state.draining },
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
