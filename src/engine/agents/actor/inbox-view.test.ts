/** Arrivals end or steer an active run; an agent at rest reads as little of a long inbox as its mode allows. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { inTurn, stall } from "../../../../test/kit/model.ts";
import { configDefaults } from "../../../config/config-schema.ts";
import { StoreUnavailableError } from "../../../core/errors.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { QueueMode } from "../../../core/message/queue.ts";
import type { Store } from "../../../core/store/store.ts";

const queue = (mode: QueueMode, more: object = {}) => ({
  queue: { ...configDefaults.queue, byChannel: {}, mode, debounceMs: 0, ...more },
});
const never = new Promise<never>(() => {});
const user = (text: string, mode?: QueueMode): MessageBody => ({ kind: "user", text, queue: mode && { mode } });

describe("a message that arrives while a run is active", () => {
  test.each<[string, MessageBody, QueueMode, string | undefined]>([
    ["a stop ends it", { kind: "stop" }, "queue", "aborted"],
    ["a person's reset ends it", { kind: "reset", by: "person" }, "queue", "aborted"],
    ["a daily reset waits", { kind: "reset", by: "daily" }, "queue", undefined],
    ["an interrupting message ends it", user("now"), "interrupt", "aborted"],
    ["a queued message waits", user("later"), "queue", undefined],
    ["a steering message waits for its next step", user("beside"), "steer", undefined],
  ])("%s", async (_title, body, mode, outcome) => {
    const engine = await TestEngine.open({
      script: inTurn((call) => stall(call, never), "next"),
      settings: queue(mode),
    });
    await engine.tell("work");
    await engine.send(body);
    await engine.settle();
    expect((await engine.runs())[0]?.outcome).toBe(outcome);
  });

  it("is found after a read that failed", async () => {
    const engine = await TestEngine.open({ script: inTurn((call) => stall(call, never), "next") });
    await engine.tell("work");
    const store: { waiting: Store["waiting"] } = engine.store;
    const { waiting } = store;
    store.waiting = () => Promise.reject(new StoreUnavailableError("away"));
    await engine.send({ kind: "stop" });
    await engine.settle();
    expect(engine.logged("warn")).toContain("could not read the messages that arrived");
    expect((await engine.runs())[0]?.state).toBe("open");
    store.waiting = waiting;
    await engine.tell("more");
    expect((await engine.runs())[0]?.outcome).toBe("aborted");
  });

  it("is found if it comes during a read", async () => {
    const engine = await TestEngine.open({ script: inTurn((call) => stall(call, never), "next") });
    await engine.tell("work");
    const store: { waiting: Store["waiting"] } = engine.store;
    const { waiting } = store;
    const hold = gate();
    let reads = 0;
    store.waiting = async (agentId, page) => {
      const found = await waiting(agentId, page);
      reads += 1;
      if (reads === 1) await hold.promise;
      return found;
    };
    await engine.tell("later");
    await engine.send({ kind: "stop" });
    await engine.settle();
    // One read at a time: the stop waits for it.
    expect([reads, (await engine.runs())[0]?.state]).toEqual([1, "open"]);
    hold.open();
    await engine.settle();
    expect((await engine.runs())[0]?.outcome).toBe("aborted");
  });

  test.each<[QueueMode, "streams" | "uses a tool", number]>([
    ["steer-backlog", "streams", 1],
    ["steer-backlog", "uses a tool", 2],
    ["steer", "uses a tool", 1],
  ])("in mode %s enters a run that %s at its next step, or gets its own: %d runs", async (mode, during, runs) => {
    const hold = gate<void>();
    const call = { call: [{ name: "work" }] };
    const engine = await TestEngine.open({
      settings: queue(mode),
      script: inTurn(
        (one) =>
          during === "streams"
            ? stall(
                one,
                hold.promise.then(() => call),
                "so",
              )
            : call,
        "done",
      ),
      tools: { work: { execute: () => hold.promise.then(() => "worked") } },
    });
    await engine.tell("one");
    await engine.tell("two");
    hold.open();
    await engine.advance(1_000);
    expect(await engine.runs()).toHaveLength(runs);
    expect(await engine.states()).toEqual(["answered", "answered"]);
  });

  it("does not steer behind a message that waits for its own run", async () => {
    const hold = gate<string>();
    const engine = await TestEngine.open({
      settings: queue("steer"),
      script: inTurn({ call: [{ name: "work" }] }, "done"),
      tools: { work: { execute: () => hold.promise } },
    });
    await engine.tell("one");
    await engine.send(user("two", "queue"));
    await engine.tell("three");
    hold.open("worked");
    await engine.advance(1_000);
    expect((await engine.runs()).map(({ body }) => body.seqs)).toEqual([[1], [2], [3]]);
  });
});

describe("an agent at rest with a long inbox", () => {
  /** The numbers of messages that the agent reads before its first run. */
  async function read(mode: QueueMode, cap: number, last: MessageBody = user("last")): Promise<number> {
    const engine = await TestEngine.open({ settings: queue(mode, { cap }) });
    await engine.tell("first");
    await engine.drain();
    for (let n = 0; n < 20; n++) await engine.send(user(`m${n}`));
    await engine.send(last);
    const store: { waiting: Store["waiting"] } = engine.store;
    const { waiting } = store;
    const seen = new Set<number>();
    let taken = false;
    store.waiting = async (agentId, page) => {
      const found = await waiting(agentId, page);
      if (!taken && !page.urgent) for (const { seq } of found) seen.add(seq);
      return found;
    };
    await engine.reboot();
    engine.at("take", () => {
      taken = true;
    });
    await engine.settle();
    return seen.size;
  }

  test.each<[string, QueueMode, number, number]>([
    ["only a page if each runs alone", "queue", 21, 8],
    ["only a page if it steers", "steer", 21, 8],
    ["all above the cap", "queue", 20, 21],
    ["all to collect them", "collect", 21, 21],
    ["all to follow up", "followup", 21, 21],
    ["all to interrupt", "interrupt", 21, 21],
  ])("reads %s", async (_title, mode, cap, count) => {
    expect(await read(mode, cap)).toBe(count);
  });

  it("reads all if an urgent message of a person waits behind many", async () => {
    expect(await read("queue", 99, user("now", "interrupt"))).toBe(21);
    expect(await read("queue", 99, { kind: "stop" })).toBe(8);
  });
});
