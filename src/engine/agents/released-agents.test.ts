import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { type Reply, stall } from "../../../test/kit/model.ts";
import type { Change } from "../../core/store/change.ts";

describe("idle agents", () => {
  it("leave memory above the limit, and return with their conversation", async () => {
    const engine = await TestEngine.open({ system: { warm: 3 } });
    for (let n = 0; n < 20; n++) await engine.tell(`hello from p${n}`, { name: `p${n}` });
    expect(engine.system.loaded).toBeLessThanOrEqual(4);
    await engine.tell("again", { name: "p0" });
    expect(engine.sentBytes.at(-1)).toContain("hello from p0");
    expect(engine.shown().at(-1)).toBe("answer to again");
  });

  it("are released, so that any node may claim them", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hello");
    expect((await engine.store.agent(await engine.agentId()))?.node).toBeUndefined();
  });
});

describe("an agent that waits for the end of the debounce", () => {
  const queue = {
    mode: "collect",
    debounceMs: 1_000,
    cap: 20,
    drop: "summarize",
    maxWaiting: 1_000,
    dedupe: "message-id",
    byChannel: {},
  } as const;
  const waiting = async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      script: (call) => (call.n === 1 ? stall(call, hold.promise) : "fine"),
      system: { warm: 1 },
      settings: { queue },
    });
    await engine.tell("one");
    await engine.tell("two");
    hold.open("first");
    await engine.settle();
    expect(await engine.states()).toEqual(["answered", "waiting"]);
    return engine;
  };

  it("does not count as idle: it stays in memory, and the next message reaches the same actor", async () => {
    const engine = await waiting();
    for (let n = 0; n < 5; n++) await engine.tell("hello", { name: `p${n}` });
    await engine.advance(500);
    await engine.tell("three");
    await engine.advance(5_000);
    expect(await engine.states()).toEqual(["answered", expect.any(String), expect.any(String)]);
    expect((await engine.runs()).map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ["ok", 1],
      ["ok", 1],
    ]);
  });

  it("is awaited by settled()", async () => {
    const engine = await waiting();
    let done = false;
    const settled = engine.system.settled().then(() => {
      done = true;
    });
    await engine.advance(500);
    expect(done).toBe(false);
    await engine.advance(1_000);
    await settled;
    expect(engine.shown()).toEqual(["first", "fine"]);
  });

  it("does not delay a drain", async () => {
    const engine = await waiting();
    await engine.drain();
    expect(await engine.states()).toEqual(["answered", "waiting"]);
    await engine.restart();
    await engine.advance(5_000);
    expect(engine.shown()).toEqual(["first", "fine"]);
  });
});

describe("a message that arrives while the agent is being released", () => {
  // The message arrives at every point between the end of the last run and the next claim.
  for (let delay = 0; delay < 12; delay++) {
    it(`is handled (after ${delay} turns of the loop)`, async () => {
      const engine = await TestEngine.open();
      let late: Promise<unknown> | undefined;
      engine.onCommit = (change: Change) => {
        if (change.site === "rest" && !late) {
          late = (async () => {
            for (let turn = 0; turn < delay; turn++) await (turn % 2 ? Promise.resolve() : new Promise(setImmediate));
            return engine.say("two");
          })();
        }
        return "go";
      };
      await engine.tell("one");
      await late;
      await engine.settle();
      expect(engine.shown()).toEqual(["answer to one", "answer to two"]);
      expect((await engine.store.agent(await engine.agentId()))?.node).toBeUndefined();
    });
  }

  it("uses the context in memory, without reading history again", async () => {
    const engine = await TestEngine.open();
    let reads = 0;
    const { linesBack } = engine.store;
    await engine.tell("one");
    engine.store.linesBack = (id, page) => {
      reads += 1;
      return linesBack(id, page);
    };
    await engine.tell("two");
    expect(reads).toBe(0);
    expect(JSON.parse(engine.sentBytes[1] ?? "")).toHaveLength(3);
  });
});
