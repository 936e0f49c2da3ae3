/** Opening and closing: confirmed commits survive, and a closed store reports that it is closed. */
import { expect, test } from "vitest";
import { StoreClosedError } from "../../src/core/errors.ts";
import type { ChangeId, EntryId, RunId } from "../../src/core/ids.ts";
import { keyOf, type Opener, postOp, reopened, runBody, storeTest, userBody, worldOn } from "./fixture.ts";

export function lifetimeContract(open: Opener): void {
  storeTest(
    "committed data is there after the store is closed and opened again",
    open,
    async (world, opened, context) => {
      const a = await world.agent("a");
      await world.post(a.id, userBody("one"));
      await world.post(a.id, userBody("two"));
      await world.openRun(a, "r", [1]);
      await world.done([{ op: "entries.append", position: 2, lines: ['{"n":1}'], leaf: "l" as EntryId }], a.owner);
      const read = async () => ({
        agent: await world.store.agent(a.id),
        messages: await world.store.messages(a.id, { limit: 10 }),
        run: await world.store.run("r" as RunId),
        lines: await world.store.linesBack(a.id, { limit: 10 }),
      });
      const before = await read();
      await reopened(world, opened, context);
      expect(await read()).toEqual(before);
    },
  );

  storeTest("after the store is opened again, no earlier node owns an agent", open, async (world, opened, context) => {
    const a = await world.agent("a");
    await world.openRun(a, "r");
    await reopened(world, opened, context);
    expect((await world.store.nodes()).every((node) => node.left)).toBe(true);
    const node = await world.join("next");
    const [claimed] = await world.done([{ op: "agents.claim", node, limit: 10 }]);
    expect(claimed).toEqual({ op: "agents.claim", claims: [{ agentId: a.id, epoch: a.owner.epoch + 1 }] });
    const stale = { op: "run.step" as const, runId: "r" as RunId, body: runBody() };
    expect(await world.refused([stale], a.owner)).toBe("fenced");
  });

  test("closing commits the changes submitted before it and refuses later ones", async () => {
    const opened = await open();
    const world = await worldOn(opened.store);
    const { store } = world;
    const handedIn = Array.from({ length: 300 }, (_, i) =>
      world.commit([postOp({ sessionKey: keyOf("a"), create: world.seed("a") }, userBody(`${i}`), 1)]),
    );
    const closing = store.close();
    await expect(world.commit([{ op: "fact.put", key: "f", value: "1" }])).rejects.toThrow(StoreClosedError);
    await closing;
    const results = await Promise.all(handedIn);
    expect(results.every((result) => result.ok)).toBe(true);
    await store.close();
    await expect(world.commit([])).rejects.toThrow(StoreClosedError);
    await expect(store.agentByKey(keyOf("a"))).rejects.toThrow(StoreClosedError);
    await expect(store.outcome("any" as ChangeId)).rejects.toThrow(StoreClosedError);
    const again = await opened.reopen?.();
    if (again) {
      expect(await again.agentByKey(keyOf("a"))).toMatchObject({ nextSeq: 301, waiting: 300 });
      expect(await again.fact("f")).toBeUndefined();
      await again.close();
    }
    await opened.dispose?.();
  });
}
