/** Runs time until the world is idle, and then until every node has ended. */
import type { World } from "./build-world.ts";
import type { Actors } from "./inject-faults.ts";
import { LEASE_MS, type Nodes } from "./nodes.ts";

/** How long all work may take to end after the faults: leases, back-offs and jumped clocks. */
const REST_MS = 180_000;
const STEP_MS = 500;

/** Runs the world to its end. Returns the time at which it became idle. */
export async function untilQuiet(world: World, nodes: Nodes, actors: Actors): Promise<number> {
  const { scheduler, violations, names, options } = world;
  const { restMs = options.scenario.restMs ?? REST_MS } = options;
  await scheduler.run(actors.faultsEnd);
  let quiet = false;
  for (let waited = 0; !quiet && waited < restMs; waited += STEP_MS) {
    await scheduler.run(scheduler.time + STEP_MS);
    quiet = await isQuiet(world, nodes, actors);
  }
  if (!quiet) violations.push({ law: "liveness", what: `not idle ${restMs} ms after the faults ended` });
  const restedAt = scheduler.time;
  // Late redeliveries and processes that lost their lease get time to cause errors.
  await scheduler.run(scheduler.time + 2 * LEASE_MS + 2_000);
  nodes.end();
  for (const node of names) nodes.drain(node);
  await scheduler.run(scheduler.time + 20_000, () => nodes.living.every(({ process }) => process.state === "dead"));
  checkEnded(world, nodes);
  return restedAt;
}

/** Every node is up, no message, run or delivery is open, and every message was acknowledged. */
async function isQuiet({ channels, backend, workload }: World, nodes: Nodes, { jobs }: Actors): Promise<boolean> {
  const { reader } = backend;
  if (!(await jobs.end())) return false;
  if (nodes.living.some(({ process, subject }) => process.state !== "up" || !subject)) return false;
  const inbound = channels.flatMap((channel) => channel.inbound);
  if (inbound.some(({ acknowledgedAt }) => acknowledgedAt === undefined)) return false;
  // What nobody reads waits for a person, and ends only after a long time.
  const open = await reader.deliveries({ limit: 1_000 });
  if (open.some(({ state, target }) => state !== "waiting-reader" || target.to !== workload.neverReads)) return false;
  if ((await reader.reservations({ limit: 1 })).length > 0) return false;
  // A question ends by time, also if no run waits for it any more.
  if ((await reader.approvals({ limit: 1, states: ["pending"] })).length > 0) return false;
  const children = await reader.subagentRuns();
  if (children.some(({ cleanup, endedAt }) => cleanup === "delete" && endedAt !== undefined)) return false;
  const agents = await reader.agents({ limit: 1_000 });
  return agents.every(({ waiting, runId }) => waiting === 0 && runId === undefined);
}

function checkEnded({ channels, violations }: World, nodes: Nodes): void {
  for (const { process } of nodes.living) {
    if (process.state !== "dead") violations.push({ law: "liveness", what: `${process.name} does not end` });
  }
  for (const { token, acknowledgedAt, message } of channels.flatMap(({ inbound }) => inbound)) {
    if (acknowledgedAt === undefined)
      violations.push({ law: "liveness", what: `${token ?? message.messageId} was never acknowledged` });
  }
}
