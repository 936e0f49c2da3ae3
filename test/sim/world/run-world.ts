/**
 * One world: a seed, a scenario, a subject. People write, nodes run the subject, things go wrong. Then the faults end,
 * all work must end within a bounded time, and the auditor judges. The same three always give the same event log.
 */
import type { Violation } from "../audit/audit-view.ts";
import { audit } from "../audit/auditor.ts";
import { buildWorld, type WorldOptions } from "./build-world.ts";
import { collectEvidence, countsOf } from "./collect-evidence.ts";
import type { Coverage } from "./crash-plan.ts";
import { scheduleWork } from "./enter-work.ts";
import { injectFaults } from "./inject-faults.ts";
import { Nodes } from "./nodes.ts";
import { untilQuiet } from "./until-quiet.ts";

export interface WorldResult {
  readonly violations: readonly Violation[];
  readonly coverage: Coverage;
  readonly digest: string;
  readonly lines: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

export async function runWorld(options: WorldOptions): Promise<WorldResult> {
  const world = await buildWorld(options);
  const { violations, scheduler, log, plan, failed } = world;
  const random = world.random.fork("nodes");
  const nodes = new Nodes(world, random);
  const onRejection = (error: unknown): void => failed("unhandled rejection", error);
  process.on("unhandledRejection", onRejection);
  try {
    scheduleWork(world, nodes);
    const actors = injectFaults(world, nodes, random);
    for (const node of world.names) void nodes.start(node, true);
    const restedAt = await untilQuiet(world, nodes, actors);
    const evidence = await collectEvidence(world, nodes, actors);
    violations.push(...audit(evidence));
    await actors.index?.end();
    const counts = {
      ...countsOf(world, evidence),
      ...actors.index?.counts,
      events: scheduler.events,
      "virtual ms": scheduler.time,
      "ms to rest": restedAt - actors.faultsEnd,
    };
    return { violations, coverage: plan.coverage, digest: log.digest(), lines: log.lines, counts };
  } finally {
    nodes.killAll();
    process.off("unhandledRejection", onRejection);
    world.database.close();
  }
}
