import { expect, it } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { Store } from "../../../core/store/store.ts";
import type { ActorHost } from "./actor-host.ts";
import { ActorRegistry } from "./actor-registry.ts";

/** A host without runs: a woken agent rests again at once, or never if it is in `busy`. */
function world(warm: number) {
  const never = new Promise<never>(() => {});
  const busy = new Set<string>();
  let reads = 0;
  const mark: { run?: object } = {};
  const store = {
    agent: async (id: AgentId) => {
      reads += 1;
      return busy.has(id) ? never : undefined;
    },
    run: async () => mark.run,
  } as unknown as Store;
  const ports = { store, log: silentLog };
  const host = { ports, node: 1, restoring: () => false, draining: () => false } as unknown as ActorHost;
  const actors = new ActorRegistry(ports, warm);
  const wake = (name: string): void => actors.wake(host, name as AgentId, 1);
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { actors, busy, wake, settle, mark, reads: () => reads };
}

it("drops the actors that have rested longest, and keeps busy ones", async () => {
  const { actors, busy, wake, settle } = world(3);
  busy.add("a0").add("a1");
  for (let n = 0; n < 6; n++) wake(`a${n}`);
  await settle();
  expect(actors.size).toBe(6);
  for (let times = 0; times < 3; times++) actors.forgetIdle();
  expect(actors.size).toBe(3);
  expect(["a0", "a1", "a5"].map((id) => actors.get(id as AgentId) !== undefined)).toEqual([true, true, true]);
});

it("keeps an actor that was woken again a moment ago: the coldest is the one that was not", async () => {
  const { actors, wake, settle } = world(2);
  for (const name of ["a", "b", "c", "a"]) wake(name);
  await settle();
  actors.forgetIdle();
  expect([...actors.all()].map(({ agentId }) => agentId)).toEqual(["c", "a"]);
});

it("wakes only actors that work here, and says whether one does", async () => {
  const { actors, busy, wake, settle } = world(10);
  busy.add("a");
  wake("a");
  wake("b");
  await settle();
  expect(["a", "b", "c"].map((id) => actors.interruptWait(id as AgentId))).toEqual([true, false, false]);
  expect(actors.working()).toHaveLength(1);
  expect(["a", "c"].map((id) => actors.runOf(id as AgentId))).toEqual([undefined, undefined]);
});

it("ends the run of an actor at once by the mark of another node, and only by a mark", async () => {
  const { actors, busy, wake, settle, mark } = world(10);
  busy.add("a");
  wake("a");
  await settle();
  const ends: string[] = [];
  const run = { id: "r1", end: (reason: string) => void ends.push(reason) };
  const actor = actors.get("a" as AgentId);
  Object.defineProperty(actor, "run", { value: run });
  const woken: number[] = [];
  Object.defineProperty(actor, "wake", { value: (epoch: number) => void woken.push(epoch) });
  for (const stored of [undefined, {}, { abort: { reason: "person" } }]) {
    mark.run = stored;
    expect(actors.interruptWait("a" as AgentId)).toBe(true);
    await settle();
  }
  // Under no new claim.
  expect([ends, woken]).toEqual([["person"], [0, 0, 0]]);
  // An actor with a run must read what came.
  expect(actors.isProcessing("a" as AgentId, 1)).toBe(false);
  expect(actors.runOf("a" as AgentId)).toBe("r1");
});

it("keeps an actor whose context is being summarised, and wakes the same one again", async () => {
  const { actors, wake, settle } = world(1);
  for (const name of ["a", "b", "c"]) wake(name);
  await settle();
  const first = actors.get("a" as AgentId);
  Object.defineProperty(first, "summarising", { value: true });
  actors.forgetIdle();
  expect([...actors.all()].map(({ agentId }) => agentId)).toEqual(["a"]);
  wake("a");
  expect(actors.get("a" as AgentId)).toBe(first);
  const outside = Promise.resolve("inside");
  Object.defineProperty(first, "outsideLane", { value: () => Promise.resolve("outside") });
  expect(await actors.outsideLane("a" as AgentId, outside)).toBe("outside");
});

it("waits for another agent also if the one that waits is not in memory", async () => {
  const { actors } = world(10);
  expect(await actors.outsideLane("nobody" as AgentId, Promise.resolve("answer"))).toBe("answer");
});

it("forgets every actor when the node holds no agent any more", async () => {
  const { actors, wake, settle } = world(10);
  for (const name of ["a", "b"]) wake(name);
  await settle();
  actors.lose();
  expect([actors.size, actors.get("a" as AgentId)]).toEqual([0, undefined]);
});

it("checks only a few actors if all of them are busy", async () => {
  const { actors, busy, wake, settle } = world(1);
  for (let n = 0; n < 500; n++) busy.add(`a${n}`);
  for (let n = 0; n < 500; n++) wake(`a${n}`);
  await settle();
  let looked = 0;
  for (const actor of actors.all()) {
    Object.defineProperty(actor, "idle", {
      get: () => {
        looked += 1;
        return false;
      },
    });
  }
  actors.forgetIdle();
  expect(actors.size).toBe(500);
  expect(looked).toBe(4);
});

it("reports an actor as processing only if it is busy under the same claim", async () => {
  const { actors, busy, wake, settle } = world(10);
  busy.add("a");
  wake("a");
  wake("b");
  await settle();
  const isProcessing = (id: string, epoch: number) => actors.isProcessing(id as AgentId, epoch);
  expect([isProcessing("a", 1), isProcessing("a", 2), isProcessing("b", 1), isProcessing("c", 1)]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
