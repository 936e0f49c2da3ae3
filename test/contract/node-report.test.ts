/** The report on the nodes of a shared store: who is up, what each holds, how far behind it is, and what nobody holds. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { clusterReport } from "../../src/adapters/store/postgres/node-report.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { emptied } from "../postgres/emptied.ts";
import { freshDatabase } from "../postgres/shared.ts";
import { type Held, idOf, postOp, userBody, type World, worldOn } from "./fixture.ts";

const HOUR = 3_600_000;

let store: PostgresStore;
let world: World;
beforeAll(async () => {
  store = await openPostgresStore({ url: await freshDatabase(), leaseClock: "changes" });
});
beforeEach(async () => {
  await emptied(store);
  world = await worldOn(store);
});
afterAll(() => store.close());

/** The report measures by the clock of the database. */
const realNow = async (): Promise<number> =>
  store.connections.use("read", async (client) =>
    Number((await client.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now")).rows[0]?.now),
  );

async function heldBy(node: number, name: string): Promise<Held> {
  await world.done([{ op: "agent.create", seed: world.seed(name) }]);
  const [claimed] = await world.done([{ op: "agent.claim", agentId: idOf(name), node }]);
  const epoch = claimed?.op === "agent.claim" ? (claimed.epoch ?? 0) : 0;
  return { id: idOf(name), owner: { agentId: idOf(name), node, epoch } };
}

test("a node is up while its lease lasts, then silent, and is listed with what it holds and how long that waits", async () => {
  const now = await realNow();
  world.now = now;
  const [up, silent] = [await world.join("up", now + HOUR), await world.join("silent", now - HOUR)];
  const [a] = [await heldBy(up, "a"), await heldBy(up, "b"), await heldBy(silent, "c")];
  await world.openRun(a, "r");
  // The oldest message that still waits counts, not one that was dropped.
  const post = (time: number) => world.done([postOp({ agentId: a.id }, userBody("x"), time)]);
  await post(now - 5 * HOUR);
  await post(now - 2 * HOUR);
  await post(now - HOUR);
  await world.done([{ op: "message.drop", agentId: a.id, seq: 1, reason: "x" }]);
  const report = await clusterReport(store.connections);
  const byName = new Map(report.nodes.map((one) => [one.name, one]));
  expect(byName.get("up")).toMatchObject({ node: up, state: "up", agents: 2, runs: 1, waiting: 2 });
  expect(byName.get("silent")).toMatchObject({
    node: silent,
    state: "silent",
    leaseMs: 0,
    agents: 1,
    runs: 0,
    waiting: 0,
    lagMs: 0,
  });
  const { leaseMs = 0, lagMs = 0 } = byName.get("up") ?? {};
  expect(leaseMs).toBeGreaterThan(HOUR / 2);
  expect(leaseMs).toBeLessThanOrEqual(HOUR);
  expect(Math.round(lagMs / HOUR)).toBe(2);
  expect(report.nodes.map(({ node }) => node)).toEqual(report.nodes.map(({ node }) => node).toSorted((x, y) => x - y));
  expect(report.unheld).toEqual({ agents: 0, waiting: 0 });
});

test("a node that left is listed only while a run or a message is left with it, and that work is nobody's", async () => {
  const now = await realNow();
  world.now = now;
  const names = ["idle", "running", "waiting", "returned"] as const;
  const nodes = new Map<string, number>();
  for (const name of names) nodes.set(name, await world.join(name, now + HOUR));
  const nodeOf = (name: string): number => nodes.get(name) ?? 0;
  const held = new Map<string, Held>();
  for (const name of names) held.set(name, await heldBy(nodeOf(name), name));
  const running = held.get("running");
  if (running) await world.openRun(running, "r");
  for (const name of ["waiting", "returned"]) await world.post(idOf(name));
  for (const name of names.slice(0, 3)) await world.done([{ op: "node.leave", node: nodeOf(name) }]);
  await world.done([{ op: "node.join", name: "again", leaseUntil: now + HOUR, was: nodeOf("returned") }]);
  await world.done([{ op: "agent.create", seed: world.seed("free") }]);
  for (let n = 0; n < 2; n++) await world.post(idOf("free"));
  const report = await clusterReport(store.connections);
  const states = report.nodes.filter(({ name }) => name !== "test").map(({ name, state }) => [name, state]);
  expect(states).toEqual([
    ["running", "left"],
    ["waiting", "left"],
    ["returned", "returned"],
    ["again", "up"],
  ]);
  // Of the nodes that left and of no node; what a process held under its earlier number is still its own.
  expect(report.unheld).toEqual({ agents: 3, waiting: 3 });
});

test("a node that owns nothing is listed with nothing, and what a silent node owns is nobody's", async () => {
  const now = await realNow();
  world.now = now;
  const [bare, silent, busy] = [
    await world.join("bare", now + HOUR),
    await world.join("silent", now - HOUR),
    await world.join("busy", now + HOUR),
  ];
  await heldBy(silent, "left");
  await world.post(idOf("left"));
  await heldBy(busy, "kept");
  // Its clock is ahead: the message comes from the future.
  await world.done([postOp({ agentId: idOf("kept") }, userBody("x"), now + HOUR)]);
  const { nodes, unheld } = await clusterReport(store.connections);
  const nothing = { agents: 0, runs: 0, waiting: 0, lagMs: 0 };
  expect(nodes.find(({ node }) => node === bare)).toEqual({
    ...{ node: bare, name: "bare", state: "up", leaseMs: expect.any(Number) },
    ...nothing,
  });
  expect(nodes.find(({ node }) => node === busy)).toMatchObject({ agents: 1, waiting: 1, lagMs: 0 });
  expect(nodes.find(({ node }) => node === silent)).toMatchObject({ state: "silent", agents: 1, waiting: 1 });
  expect(unheld).toEqual({ agents: 1, waiting: 1 });
});

test("the oldest message of all agents of a node counts, each agent's by its own messages", async () => {
  const now = await realNow();
  world.now = now;
  const node = await world.join("n", now + HOUR);
  for (const [name, hours] of [
    ["a", 1],
    ["b", 3],
    ["c", 2],
  ] as const) {
    await heldBy(node, name);
    await world.done([postOp({ agentId: idOf(name) }, userBody("x"), now - hours * HOUR)]);
  }
  await world.done([{ op: "agent.create", seed: world.seed("free") }]);
  await world.done([postOp({ agentId: idOf("free") }, userBody("x"), now - 9 * HOUR)]);
  const { nodes } = await clusterReport(store.connections);
  const { lagMs = 0, ...rest } = nodes.find((one) => one.node === node) ?? {};
  expect(rest).toMatchObject({ agents: 3, waiting: 3, runs: 0 });
  expect(Math.round(lagMs / HOUR)).toBe(3);
});
