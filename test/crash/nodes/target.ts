/**
 * Several real nodes on a real PostgreSQL under constant load: killed, paused for longer than their lease, cut off from
 * the database, and the database restarted, at random. The records of the people outside are audited, and the database
 * shows how long orphans waited.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { openPostgresReader } from "../../../src/adapters/store/postgres/open-reader.ts";
import { randomOf } from "../../kit/random.ts";
import { startProxy } from "../../postgres/proxy.ts";
import { startServer } from "../../postgres/server.ts";
import { audit } from "../engine/audit.ts";
import type { FromChild } from "../engine/wire.ts";
import type { CrashReport } from "../target.ts";
import { NodeProcess } from "./node-process.ts";
import { oneRunAtATime } from "./one-run.ts";
import { heldBy, takenOver } from "./orphans.ts";
import { People } from "./people.ts";

export interface NodesCrashOptions {
  readonly nodes: number;
  readonly minutes: number;
  readonly seed: string;
  readonly say: (text: string) => void;
  /** How many people write in each phase: first few, then many. */
  readonly people?: readonly number[];
}

const LEASE_SECONDS = 3;
/** How long agents of a dead node may wait, and agents of a paused node after its lease. */
const DEAD_MS = 2_000;

export async function crashNodes(options: NodesCrashOptions): Promise<CrashReport> {
  const random = randomOf(`nodes/${options.seed}`);
  const server = await startServer({ durable: true });
  const url = server.url;
  const homes: string[] = [];
  const counts: Record<string, number> = { kills: 0, pauses: 0, cuts: 0, "database restarts": 0 };
  const waits = { dead: [] as number[], paused: [] as number[] };
  const problems: string[] = [];
  let watch = await watching(url);
  const nodes: NodeProcess[] = [];
  const people = new People(random.fork("people"), () => nodes);
  let quiet = 0;
  const heard = (said: FromChild): void => {
    people.hear(said);
    if (said.say === "quiet") quiet += 1;
  };
  for (let n = 0; n < options.nodes; n++) {
    const home = mkdtempSync(join(tmpdir(), "rookery-node-"));
    homes.push(home);
    const proxy = await startProxy({ host: "127.0.0.1", port: server.port });
    nodes.push(new NodeProcess(`node ${n}`, proxy, [home, "none", proxy.through(url), String(LEASE_SECONDS)], heard));
  }
  const moving = setInterval(() => people.move(), 20);
  try {
    await Promise.all(nodes.map((node) => node.start()));
    const crowds = options.people ?? [4, 150];
    for (const crowd of crowds) {
      people.people = crowd;
      people.forgive();
      const until = performance.now() + (options.minutes * 60_000) / crowds.length;
      while (performance.now() < until && problems.length === 0) {
        await sleep(random.int(300, 1_500));
        await oneFault();
        for (const node of nodes) if (node.problem) problems.push(node.problem);
      }
      options.say(`${JSON.stringify(counts)}, ${people.written.length.toLocaleString("en")} messages`);
    }
    // No more faults: wait until all work has ended.
    people.people = 0;
    for (const node of nodes) if (!node.started) await node.start();
    const limit = performance.now() + 120_000;
    while (people.unacknowledged > 0 && performance.now() < limit) await sleep(50);
    for (const node of nodes) node.tell({ say: "end" });
    while (quiet < nodes.length && performance.now() < limit) await sleep(50);
    if (quiet < nodes.length) problems.push(`only ${quiet} of ${nodes.length} nodes finished their work`);
    const reader = await openPostgresReader({ url });
    const seen = await audit(reader, people);
    problems.push(...seen.problems, ...(await oneRunAtATime(reader)));
    await reader.close();
    const most = (values: readonly number[]): number => Math.round(Math.max(0, ...values));
    return {
      problems,
      counts: {
        ...counts,
        ...seen.counts,
        "orphans of a dead node, most ms": most(waits.dead),
        "orphans of a paused node, most ms": most(waits.paused),
      },
    };
  } finally {
    clearInterval(moving);
    for (const node of nodes) await node.kill();
    for (const node of nodes) await node.proxy.close();
    await watch.end().catch(() => undefined);
    await server.stop();
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  }

  async function oneFault(): Promise<void> {
    const living = nodes.filter((node) => node.living);
    // One node must remain to take over.
    if (living.length < 2) return;
    const node = random.pick(living);
    const what = random.next();
    try {
      if (what < 0.45) await killed(node);
      else if (what < 0.65) await pausedFor(node);
      else if (what < 0.9) await cutOff(node);
      else await databaseRestarted();
    } catch (error) {
      problems.push(`${node.name}: ${(error as Error).message}`);
    }
  }

  async function killed(node: NodeProcess): Promise<void> {
    const orphans = await inFlight(node);
    await node.kill();
    counts.kills = (counts.kills ?? 0) + 1;
    const { ms } = await takenOver(watch, orphans, DEAD_MS);
    if (orphans.length > 0) waits.dead.push(ms);
    counts["runs in flight at a kill"] = (counts["runs in flight at a kill"] ?? 0) + orphans.length;
    await sleep(random.int(0, 500));
    await node.start();
  }

  /** The open runs of a node. Polls until there is one: a kill without work in progress proves nothing. */
  async function inFlight(node: NodeProcess): Promise<Awaited<ReturnType<typeof heldBy>>> {
    for (const until = performance.now() + 2_000; ; await sleep(10)) {
      const held = await heldBy(watch, node.pid);
      if (held.length > 0 || performance.now() > until) return held;
    }
  }

  async function pausedFor(node: NodeProcess): Promise<void> {
    const orphans = await inFlight(node);
    node.pause();
    counts.pauses = (counts.pauses ?? 0) + 1;
    const { ms } = await takenOver(watch, orphans, LEASE_SECONDS * 1_000 + DEAD_MS);
    if (orphans.length > 0) waits.paused.push(ms);
    await sleep(random.int(0, 2_000));
    node.resume();
  }

  async function cutOff(node: NodeProcess): Promise<void> {
    counts.cuts = (counts.cuts ?? 0) + 1;
    const away = random.chance(0.4) ? random.int(100, 2_000) : 0;
    node.proxy.refusing = away > 0;
    node.proxy.cut();
    await sleep(away);
    node.proxy.refusing = false;
  }

  async function databaseRestarted(): Promise<void> {
    counts["database restarts"] = (counts["database restarts"] ?? 0) + 1;
    await watch.end().catch(() => undefined);
    await server.halt();
    await sleep(random.int(0, 1_500));
    await server.start();
    watch = await watching(url);
    // Wait times are measured only once the nodes are connected again.
    await sleep(4_000);
  }
}

async function watching(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}
