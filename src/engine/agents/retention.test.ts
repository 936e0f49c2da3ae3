import { describe, expect, it } from "vitest";
import { channel, Nest } from "./engine.test-kit.ts";
import { pruneRound, startRetention } from "./retention.ts";

const DAY = 24 * 3600_000;
const limits = { messagesMs: DAY, deliveriesMs: DAY, runsMs: DAY, changesMs: DAY };
const world = (nest: Nest) => nest.ports({ alive: true, name: "retention" });

describe("a round of pruning", () => {
  it("never removes what has not ended, whatever its age; history is never touched", async () => {
    const one = channel("test");
    one.sending = () => ({ status: "retry", reason: "down" });
    const nest = await Nest.open({ channels: [one], system: { pollMs: 400 * DAY, outbox: { maxAgeMs: 400 * DAY } } });
    // Ended: a run, its message and its delivery. Not ended: a run, a waiting message, a pending delivery.
    one.sending = () => ({ status: "sent" });
    await nest.tell("done");
    one.sending = () => ({ status: "retry", reason: "down" });
    await nest.tell("owed");
    nest.script = () => new Promise<never>(() => {});
    await nest.tell("under way");
    await nest.tell("waiting");
    nest.crash();
    nest.clock.jump(100 * DAY);
    const lines = (await nest.entries()).length;

    const removed = await pruneRound(world(nest), limits, async () => {});
    expect(removed).toMatchObject({ messages: 2, runs: 2, deliveries: 1 });
    expect(await nest.states()).toEqual(["taken", "waiting"]);
    expect((await nest.deliveries()).map(({ state }) => state)).toEqual(["pending"]);
    expect((await nest.runs()).map(({ state }) => state)).toEqual(["open"]);
    expect((await nest.entries()).length).toBe(lines);

    nest.script = () => "at last";
    one.sending = () => ({ status: "sent" });
    await nest.restart();
    await nest.advance(10 * 60_000);
    expect(await nest.states()).toEqual(["answered", "answered"]);
    expect(nest.shown().at(-1)).toBe("at last");
  });

  it("keeps what recognises a message as long as the channel may send it again, and while it is unsettled", async () => {
    const nest = await Nest.open({ script: () => new Promise<never>(() => {}) });
    const source = { connector: "test", channelId: "ann", messageId: "77" };
    await nest.tell("hi", { source, replayHorizonMs: 1_000 });
    nest.clock.jump(100 * DAY);
    await pruneRound(world(nest), limits, async () => {});
    expect(await nest.say("hi", { source, replayHorizonMs: 1_000 })).toMatchObject({ status: "duplicate" });
  });

  it("removes nothing that is younger than its limit", async () => {
    const nest = await Nest.open();
    await nest.tell("hi");
    await nest.advance(1_000);
    const removed = await pruneRound(world(nest), limits, async () => {});
    expect(removed).toEqual({ messages: 0, deliveries: 0, runs: 0, changes: 0, slots: 0, dedupe: 0 });
  });

  it("walks everything in bounded portions with pauses in between", async () => {
    const nest = await Nest.open();
    await Promise.all(Array.from({ length: 450 }, (_, n) => nest.say(`n${n}`, { name: `p${n % 5}` })));
    await nest.settle();
    nest.clock.jump(100 * DAY);
    let pauses = 0;
    const removed = await pruneRound(world(nest), limits, async () => {
      pauses += 1;
    });
    expect(removed.messages).toBe(450);
    expect(pauses).toBeGreaterThan(10);
  });

  it("comes every hour, goes on after one that failed, and stops when told", async () => {
    const nest = Nest.unloaded();
    const ports = world(nest);
    let rounds = 0;
    nest.fate = (change) => {
      if (change.site === "prune") rounds += 1;
      return rounds === 1 ? "full" : "go";
    };
    const stop = startRetention(ports, limits);
    await nest.advance(3600_000);
    expect(rounds).toBe(1);
    expect(nest.logged("warn")).toHaveLength(1);
    await nest.advance(3600_000 + 1_000);
    expect(rounds).toBeGreaterThan(1);
    stop();
    expect(nest.clock.timers).toBe(0);
    const before = rounds;
    await nest.advance(10 * 3600_000);
    expect(rounds).toBe(before);
  });
});
