import { describe, expect, it } from "vitest";
import type { TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { stall } from "../../../test/kit/model.ts";
import type { AgentId } from "../../core/ids.ts";
import { childrenOf, type Family, openFamily as open, records, reportsIn } from "./family.test-kit.ts";

/** Hours pass in these tests, so the engine polls rarely. */
const openFamily = (about: Family = {}, { system, settings }: Pick<TestEngineOptions, "system" | "settings"> = {}) =>
  open(about, { settings, system: { pollMs: 20 * 60_000, ...system } });

const MINUTE = 60_000;

describe("a child that is kept", () => {
  it("leaves the registry after an hour of rest, and still wakes for a late message", async () => {
    const engine = await openFamily();
    await engine.tell("spawn dig");
    const [child] = await childrenOf(engine);
    await engine.advance(59 * MINUTE);
    expect(await records(engine)).toHaveLength(1);
    await engine.advance(2 * MINUTE);
    expect(await records(engine)).toEqual([]);
    await engine.system.post({ to: { agentId: child?.id as AgentId }, body: { kind: "system", text: "still there?" } });
    await engine.settle();
    expect((await engine.runs(child?.id)).map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
  });

  it("stays while it works: the hour starts at its last rest", async () => {
    const engine = await openFamily();
    await engine.tell("spawn dig");
    const [child] = await childrenOf(engine);
    await engine.advance(50 * MINUTE);
    await engine.system.post({ to: { agentId: child?.id as AgentId }, body: { kind: "system", text: "more" } });
    await engine.advance(30 * MINUTE);
    expect(await records(engine)).toHaveLength(1);
    await engine.advance(31 * MINUTE);
    expect(await records(engine)).toEqual([]);
  });

  it("is not archived during a long run", async () => {
    const engine = await openFamily(
      { child: (call) => stall(call, new Promise(() => {})) },
      { settings: { runs: { timeoutSeconds: (24 * 60 * MINUTE) / 1000 } } },
    );
    await engine.tell("spawn dig");
    await engine.advance(180 * MINUTE);
    expect(await records(engine)).toMatchObject([{ task: "task dig" }]);
  });

  it("stays in the registry if archiving is off", async () => {
    const engine = await openFamily({}, { settings: { subagents: { archiveAfterMinutes: 0 } } });
    await engine.tell("spawn dig");
    await engine.advance(600 * MINUTE);
    expect(await records(engine)).toHaveLength(1);
  });

  it("is archived on time even after a restart", async () => {
    const engine = await openFamily();
    await engine.tell("spawn dig");
    await engine.advance(30 * MINUTE);
    await engine.restart();
    await engine.advance(31 * MINUTE);
    expect(await records(engine)).toEqual([]);
  });
});

describe("a child with cleanup: delete", () => {
  it("is removed with its history after its report", async () => {
    const engine = await openFamily({ spawn: { cleanup: "delete" } });
    await engine.tell("spawn dig");
    const [child] = await childrenOf(engine);
    expect(await reportsIn(engine)).toHaveLength(1);
    await engine.advance(5_000);
    expect(await childrenOf(engine)).toEqual([]);
    expect(await records(engine)).toEqual([]);
    const id = child?.id as AgentId;
    expect(await engine.store.linesBack(id, { limit: 9 })).toEqual([]);
    expect(await engine.store.agentByKey(child?.sessionKey as never)).toBeUndefined();
    await expect(engine.system.post({ to: { agentId: id }, body: { kind: "system", text: "x" } })).rejects.toThrow(
      "was removed",
    );
    expect(engine.shown()).toEqual(["started", "told"]);
  });

  it("is removed although the commit that ends it takes until after an earlier sweep", async () => {
    const [answer, slow] = [gate<string>(), gate<void>()];
    const engine = await openFamily({
      spawn: { cleanup: "delete" },
      child: (_, task) => (task === "b" ? answer.promise : "found a"),
    });
    const { commit } = engine.store;
    let held = 0;
    engine.store.commit = async (change) => {
      const endsB = change.ops.some(
        (op) => op.op === "subagent.put" && op.record.task === "task b" && op.record.endedAt,
      );
      if (endsB) {
        held += 1;
        await slow.promise;
      }
      return commit(change);
    };
    await engine.tell("spawn b");
    await engine.tell("spawn a");
    await engine.advance(900);
    answer.open("found b");
    // The engine is not idle while the commit is held, so the clock cannot wait for that.
    const turns = async (): Promise<void> => {
      for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
    };
    await engine.clock.advance(2_000, turns);
    expect(held).toBe(1);
    expect((await records(engine)).map(({ task }) => task)).toEqual(["task b"]);
    slow.open();
    await engine.advance(5_000);
    expect(await records(engine)).toEqual([]);
    expect(await childrenOf(engine)).toEqual([]);
  });

  it("stays while one of its own children works", async () => {
    const ready = gate<string>();
    const engine = await openFamily(
      {
        spawn: { cleanup: "delete" },
        child: ({ request }, task) => {
          if (task !== "a") return ready.promise;
          return request.messages.at(-1)?.role === "tool"
            ? "done"
            : { call: [{ name: "sessions_spawn", with: { task: "task b" } }] };
        },
      },
      { settings: { subagents: { maxDepth: 2 } } },
    );
    await engine.tell("spawn a");
    await engine.advance(5 * MINUTE);
    expect(await childrenOf(engine)).toHaveLength(1);
    ready.open("found");
    await engine.advance(5 * MINUTE);
    expect(await childrenOf(engine)).toEqual([]);
    // The child's own, and that of its child, which came after it.
    expect(await reportsIn(engine)).toHaveLength(2);
  });
});
