import { describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { pruneRound, startRetention } from "./retention.ts";

const DAY = 24 * 3600_000;
const limits = { messagesMs: DAY, deliveriesMs: DAY, runsMs: DAY, changesMs: DAY, auditMs: DAY };
const world = (engine: TestEngine) => engine.ports({ alive: true, name: "retention" });

describe("a round of pruning", () => {
  it("never removes rows that have not ended, at any age, and never touches history", async () => {
    const one = channel("test");
    one.sending = () => ({ status: "retry", reason: "down" });
    const engine = await TestEngine.open({
      channels: [one],
      system: { pollMs: 400 * DAY, outbox: { maxAgeMs: 400 * DAY } },
    });
    // Ended: a run, its message and its delivery. Not ended: a run, a waiting message, a pending delivery.
    one.sending = () => ({ status: "sent" });
    await engine.tell("done");
    one.sending = () => ({ status: "retry", reason: "down" });
    await engine.tell("owed");
    engine.script = () => new Promise<never>(() => {});
    await engine.tell("under way");
    await engine.tell("waiting");
    engine.crash();
    engine.clock.jump(100 * DAY);
    const lines = (await engine.entries()).length;

    const removed = await pruneRound(world(engine), limits, async () => {});
    expect(removed).toMatchObject({ messages: 2, runs: 2, deliveries: 1 });
    expect(await engine.states()).toEqual(["taken", "waiting"]);
    expect((await engine.deliveries()).map(({ state }) => state)).toEqual(["pending"]);
    expect((await engine.runs()).map(({ state }) => state)).toEqual(["open"]);
    expect((await engine.entries()).length).toBe(lines);

    engine.script = () => "at last";
    one.sending = () => ({ status: "sent" });
    await engine.restart();
    await engine.advance(10 * 60_000);
    expect(await engine.states()).toEqual(["answered", "answered"]);
    expect(engine.shown().at(-1)).toBe("at last");
  });

  it("keeps the dedupe key of a message as long as the channel may send it again, and until it is settled", async () => {
    const engine = await TestEngine.open({ script: () => new Promise<never>(() => {}) });
    const source = { connector: "test", channelId: "ann", messageId: "77" };
    await engine.tell("hi", { source, replayHorizonMs: 1_000 });
    engine.clock.jump(100 * DAY);
    await pruneRound(world(engine), limits, async () => {});
    expect(await engine.say("hi", { source, replayHorizonMs: 1_000 })).toMatchObject({ status: "duplicate" });
  });

  it("removes no row that is younger than its limit", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    await engine.advance(1_000);
    const removed = await pruneRound(world(engine), limits, async () => {});
    expect(removed).toEqual({
      messages: 0,
      deliveries: 0,
      runs: 0,
      changes: 0,
      slots: 0,
      dedupe: 0,
      requests: 0,
      audit: 0,
      approvals: 0,
      questions: 0,
    });
  });

  it("reads all rows in bounded portions with pauses in between", async () => {
    const engine = await TestEngine.open();
    await Promise.all(Array.from({ length: 450 }, (_, n) => engine.say(`n${n}`, { name: `p${n % 5}` })));
    await engine.settle();
    engine.clock.jump(100 * DAY);
    let pauses = 0;
    const removed = await pruneRound(world(engine), limits, async () => {
      pauses += 1;
    });
    expect(removed.messages).toBe(450);
    expect(pauses).toBeGreaterThan(10);
  });

  it("removes files after the deliveries that held them, with pauses, and not in a round that failed", async () => {
    const engine = TestEngine.unloaded();
    const seen: string[] = [];
    let fails = false;
    engine.onCommit = ({ site }) => {
      if (seen.at(-1) !== site) seen.push(site);
      return fails && site === "prune" ? "full" : "go";
    };
    let paused = false;
    const sweep = async (pause: () => Promise<void> = async () => {}): Promise<number> => {
      seen.push("files");
      await pause();
      paused = true;
      return 0;
    };
    const stop = startRetention(world(engine), () => limits, { sweep });
    await engine.advance(3600_000 + 10_000);
    expect([seen, paused]).toEqual([["prune", "budget.sweep", "files"], true]);
    fails = true;
    await engine.advance(3600_000 + 10_000);
    expect(seen.filter((one) => one === "files")).toHaveLength(1);
    stop();
  });

  it("runs every hour, continues after a failure, and stops on request", async () => {
    const engine = TestEngine.unloaded();
    const ports = world(engine);
    let rounds = 0;
    engine.onCommit = (change) => {
      if (change.site === "prune") rounds += 1;
      return rounds === 1 ? "full" : "go";
    };
    const stop = startRetention(ports, () => limits);
    await engine.advance(3600_000);
    expect(rounds).toBe(1);
    expect(engine.logged("warn")).toHaveLength(1);
    await engine.advance(3600_000 + 1_000);
    expect(rounds).toBeGreaterThan(1);
    stop();
    expect(engine.clock.timers).toBe(0);
    const before = rounds;
    await engine.advance(10 * 3600_000);
    expect(rounds).toBe(before);
  });
});
