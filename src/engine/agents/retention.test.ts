import { describe, expect, it } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { OWNER } from "../../core/people/person.ts";
import { QUESTION_MS } from "../people/open-question.ts";
import { agesOf, pruneRound, startRetention } from "./retention.ts";

const HOUR = 3600_000;
const DAY = 24 * HOUR;
const limits = { messagesMs: DAY, deliveriesMs: DAY, runsMs: DAY, changesMs: DAY, auditMs: DAY };
const portsOf = (engine: TestEngine) => engine.ports({ alive: true, name: "retention" });

it("keeps the rows of each table as long as its limit says", () => {
  const ages = agesOf({ messagesMs: 1, deliveriesMs: 2, runsMs: 3, changesMs: 4, auditMs: 5 });
  expect(Object.fromEntries(ages)).toEqual({
    ...{ messages: 1, deliveries: 2, runs: 3, changes: 4, audit: 5, slots: 3, approvals: 3 },
    ...{ questions: QUESTION_MS, dedupe: 0, requests: 0 },
  });
});

describe("pruneRound", () => {
  it("never removes rows that have not ended, at any age, and never touches history", async () => {
    const one = channel("test");
    one.sending = () => ({ status: "retry", reason: "down" });
    const engine = await TestEngine.open({
      channels: [one],
      system: { pollMs: 400 * DAY },
      settings: { outbox: { maxAgeHours: 9600 } },
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

    const removed = await pruneRound(portsOf(engine), limits, async () => {});
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
    await pruneRound(portsOf(engine), limits, async () => {});
    expect(await engine.say("hi", { source, replayHorizonMs: 1_000 })).toMatchObject({ status: "duplicate" });
  });

  it("removes no row that is younger than its limit", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    await engine.advance(1_000);
    const removed = await pruneRound(portsOf(engine), limits, async () => {});
    expect(Object.values(removed).every((count) => count === 0)).toBe(true);
  });

  it("removes all rows in portions of 200 with a pause after each", async () => {
    const engine = await TestEngine.open();
    const note = { kind: "system", text: "note", silent: true } as const;
    await Promise.all(Array.from({ length: 401 }, () => engine.send(note)));
    await engine.settle();
    engine.clock.jump(100 * DAY);
    const left: number[] = [];
    const removed = await pruneRound(portsOf(engine), limits, async () => {
      left.push((await engine.states()).length);
    });
    expect(removed.messages).toBe(401);
    expect(left.slice(0, 3)).toEqual([201, 1, 0]);
  });

  it("continues with the next table if one is refused", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    engine.clock.jump(100 * DAY);
    const { commit } = engine.store;
    engine.store.commit = async (change) =>
      change.ops.some((op) => op.op === "prune" && op.what === "messages")
        ? { ok: false, refused: "conflict", detail: "no" }
        : commit(change);
    const removed = await pruneRound(portsOf(engine), limits, async () => {});
    expect(removed).toMatchObject({ messages: 0, runs: 1 });
  });

  it("frees reservations that no run can use any more", async () => {
    const price = {
      ...{ contextWindow: 100_000, maxTokens: 1_000, leastTokens: 10 },
      cost: { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 },
    };
    const engine = await TestEngine.open({
      ...{ price, script: () => new Promise<never>(() => {}) },
      settings: { budgets: { agent: { dollars: 1 } } },
    });
    await engine.tell("hi");
    engine.crash();
    const reservations = () => engine.store.reservations({ limit: 10 });
    engine.clock.jump(DAY);
    await pruneRound(portsOf(engine), limits, async () => {});
    expect(await reservations()).toHaveLength(1);
    engine.clock.jump(1);
    await pruneRound(portsOf(engine), limits, async () => {});
    expect(await reservations()).toEqual([]);
  });
});

describe("startRetention", () => {
  /** An answered message that is old enough to be removed. */
  async function aged() {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    await engine.drain();
    engine.clock.jump(100 * DAY);
    return engine;
  }

  it("prunes every hour by the limits of now, continues after a failure, and stops on request", async () => {
    const engine = await aged();
    let messagesMs = 200 * DAY;
    const stop = startRetention(portsOf(engine), () => ({ ...limits, messagesMs }));
    await engine.advance(HOUR + 10_000);
    expect([(await engine.states()).length, (await engine.runs()).length]).toEqual([1, 0]);
    messagesMs = DAY;
    engine.onCommit = ({ site }) => (site === "prune" ? "full" : "go");
    await engine.advance(HOUR);
    expect(engine.logged("warn")).toEqual(["pruning failed and will be tried again"]);
    engine.onCommit = () => "go";
    await engine.advance(HOUR - 20_000);
    expect(await engine.states()).toHaveLength(1);
    await engine.advance(20_000);
    expect(await engine.states()).toEqual([]);
    stop();
    expect(engine.clock.timers).toBe(0);
  });

  it.each<[string, boolean]>([
    ["none", true],
    ["prune", false],
    ["budget.sweep", false],
  ])("removes unused files only after a complete round (failing: %s)", async (fails, removes) => {
    const engine = await aged();
    const { files } = engine.system;
    if (!files) throw new TypeError("no files");
    const { id } = await files.put({ data: Buffer.from("a"), name: "a.txt", behalf: { person: OWNER } });
    engine.clock.jump(2 * files.limits.unusedMs);
    engine.onCommit = ({ site }) => (site === fails ? "full" : "go");
    startRetention(portsOf(engine), () => limits, files);
    await engine.advance(HOUR + 10_000);
    expect((await files.find(id)) === undefined).toBe(removes);
  });

  it("stops between two portions of a round", async () => {
    const engine = await aged();
    const stop = startRetention(portsOf(engine), () => limits);
    await engine.advance(HOUR);
    stop();
    await engine.advance(5 * HOUR);
    expect([await engine.states(), (await engine.runs()).length]).toEqual([[], 1]);
  });
});
