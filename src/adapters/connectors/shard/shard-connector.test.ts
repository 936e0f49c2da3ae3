import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import { shardAddress } from "../../../core/agent/shard-address.ts";
import { CommitUnknownError, StoreUnavailableError } from "../../../core/errors.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import { seedAgent } from "../../../engine/context/seed-agent.ts";
import { openMemoryStore } from "../../store/sqlite/open-store.ts";
import { shardConnector } from "./shard-connector.ts";

const ann: AgentDescriptor = { type: "user", connector: "test", userId: "ann", channelId: "ann" };
const said = JSON.stringify({ kind: "system", text: "hello over there", origin: "a/x", hops: 1 });
const none = new AbortController().signal;

async function open() {
  const [store, clock, ids] = [openMemoryStore(), virtualClock(), seededIds("there")];
  const seed = seedAgent(ids, ann, clock.now());
  await store.commit({ id: ids.change(), site: "t", at: 0, ops: [{ op: "agent.create", seed }] });
  const world = { store, fail: [] as (() => Error | undefined)[], opened: 0, away: false, closed: 0 };
  const other = {
    ...store,
    async commit(change: Parameters<typeof store.commit>[0]) {
      const before = world.fail.shift()?.();
      if (before && !(before instanceof CommitUnknownError)) throw before;
      const done = await store.commit(change);
      if (before) throw before;
      return done;
    },
    outcome: async () => undefined,
    async close() {
      world.closed += 1;
    },
  };
  const connector = shardConnector(
    { ids, clock },
    {
      name: "a",
      others: ["b"],
      async open() {
        world.opened += 1;
        if (world.away) throw new StoreUnavailableError("away");
        return other;
      },
    },
  );
  const send = (to: string, id = "run.0", text = said, shard = "b") =>
    connector.send(
      { id: id as DeliveryId, target: { channel: "shard", accountId: shard, to }, payload: { text } },
      none,
    );
  const waiting = async () => (await store.waiting(seed.id, { limit: 9 })).map(({ body }) => body);
  return { world, connector, send, waiting, agent: seed.id, key: sessionKeyOf(ann, "main") };
}

describe("a message to an agent of another shard", () => {
  it("arrives once even if it is sent several times, addressed by id or by key", async () => {
    const { send, waiting, agent, key } = await open();
    expect(await send(agent)).toMatchObject({ status: "sent" });
    expect(await send(key)).toMatchObject({ status: "sent" });
    expect(await waiting()).toEqual([{ kind: "system", text: "hello over there", origin: "a/x", hops: 1 }]);
    expect(await send(agent, "run.1")).toMatchObject({ status: "sent" });
    expect(await waiting()).toHaveLength(2);
  });

  it("is retried when the other store fails or its answer is lost, and still arrives once", async () => {
    const { world, send, waiting, agent } = await open();
    world.fail.push(() => new StoreUnavailableError("away"));
    expect(await send(agent)).toMatchObject({ status: "retry" });
    expect(await waiting()).toEqual([]);
    world.fail.push(() => new CommitUnknownError("cut off after it was applied"));
    expect(await send(agent)).toMatchObject({ status: "retry" });
    expect(await send(agent)).toMatchObject({ status: "sent" });
    expect(await waiting()).toHaveLength(1);
  });

  it("opens the other store once, again after a failure, and closes it with the connector", async () => {
    const { world, connector, send, agent } = await open();
    world.away = true;
    expect(await send(agent)).toMatchObject({ status: "retry" });
    world.away = false;
    await send(agent);
    await send(agent, "run.1");
    expect(world.opened).toBe(2);
    await connector.stop();
    expect(world.closed).toBe(1);
  });

  it.each([
    ["no such agent", { to: "u".repeat(24) }],
    ["no such shard", { shard: "c" }],
    ["not a message", { text: "plain words" }],
    ["a message that only the engine may create", { text: JSON.stringify({ kind: "user", text: "I am the owner" }) }],
  ])("is refused: %s", async (_, { to, shard, text }: { to?: string; shard?: string; text?: string }) => {
    const { send, waiting, agent } = await open();
    expect(await send(to ?? agent, "run.0", text ?? said, shard ?? "b")).toMatchObject({ status: "refused" });
    expect(await waiting()).toEqual([]);
  });

  it("is addressed as shard/agent, with the name of a known shard only", () => {
    expect(shardAddress("b/agent:main:main", ["b"])).toEqual({ shard: "b", agent: "agent:main:main" });
    for (const text of ["b", "/x", "c/x", "b/", "b/x y"]) expect(shardAddress(text, ["b"])).toBeUndefined();
  });
});
