/** Schedules the faults and the requests of people. Everything is derived from the seed. */
import type { Random } from "../../kit/random.ts";
import type { Range, Scenario } from "../scenarios/scenario.ts";
import { type Aborts, makeAborts } from "./aborts.ts";
import { type Approvers, makeApprovers } from "./approvers.ts";
import { type Branches, makeBranches } from "./branches.ts";
import type { World } from "./build-world.ts";
import { type Callers, makeCallers } from "./callers.ts";
import { type IndexActor, startIndex } from "./index-follower.ts";
import { type Jobs, makeJobs } from "./jobs.ts";
import { MAX_SKEW_MS, type Nodes } from "./nodes.ts";
import { makeOperator, type Operator } from "./operator.ts";
import { makePairingActs, type PairingActs } from "./pairing-acts.ts";
import { makePeopleActs, type PeopleActs } from "./people-acts.ts";
import { startReaders } from "./readers.ts";
import { makeRecords } from "./records.ts";
import { makeRevocations } from "./revocations.ts";
import { makeRuleChanges } from "./rule-changes.ts";
import { WALL_START } from "./today.ts";
import { makeTreeStops } from "./tree-stops.ts";
import { ZONES } from "./zones.ts";

/** The actors while the faults last, with the records of what they did. */
export interface Actors {
  /** When the faults end. */
  readonly faultsEnd: number;
  readonly aborts: Aborts;
  readonly branches: Branches;
  readonly callers: Callers;
  readonly jobs: Jobs;
  readonly operator: Operator;
  readonly peopleActs: PeopleActs;
  readonly pairing?: PairingActs;
  readonly approvers: Approvers;
  readonly index: IndexActor | undefined;
}

/** `random`: the stream of everything that happens to nodes. */
export function injectFaults(world: World, nodes: Nodes, random: Random): Actors {
  const { scheduler, faults, plan, log, workload, options } = world;
  const { scenario } = options;
  const kills = killTimes(scenario, random);
  const faultsEnd = Math.max(workload.endsAt, kills.at(-1) ?? 0) + random.int(0, 3_000);
  /** Schedules `what` this many times, each at a random time before the faults end. */
  const times = (range: Range = [0, 0], what: () => void): void => {
    for (let n = random.int(...range); n > 0; n--) {
      scheduler.after(random.int(500, faultsEnd), () => faults.active && what());
    }
  };
  times(scenario.pauses, plan.armPause);
  times(scenario.outages, () => strikeStore(world, random, "outage"));
  times(scenario.fullDisks, () => strikeStore(world, random, "diskFull"));
  times(scenario.clockJumps, () => jumpClocks(world, nodes, random));
  for (const at of kills) scheduler.after(at, () => nodes.kill(random.pick(world.names)));
  times(scenario.drains, () => nodes.drain(random.pick(world.names)));

  const ask = (name: string) => ({
    random: world.random.fork(name),
    log,
    backend: world.backend,
    living: () => nodes.living,
  });
  const aborts = makeAborts(ask("aborts"));
  times(scenario.aborts, () => void aborts.ask());
  const wall = (): number => Math.max(...world.names.map((name) => nodes.wall(name)));
  const settings = { now: WALL_START, zone: () => nodes.zone, wall, monotonic: () => scheduler.time };
  const jobs = makeJobs({ ...ask("jobs"), ...settings }, scenario.jobs);
  if (scenario.jobs) times(scenario.jobs.edits, () => jobs.edit());
  const { zones } = scenario.jobs ?? {};
  if (zones) times(zones, () => nodes.changeZone(random.pick(Object.keys(ZONES))));
  const branches = makeBranches(ask("branches"));
  if (scenario.branches) times(scenario.branches, () => void branches.ask());
  const peopleActs = makePeopleActs(ask("people-acts"));
  times(scenario.peopleActs?.drops, () => void peopleActs.drop());
  times(scenario.peopleActs?.edits, () => void peopleActs.edit());
  const pairing = scenario.pairing && makePairingActs({ ...ask("pairing"), channels: world.channels });
  if (scenario.pairing) {
    times(scenario.pairing.approvals, () => void pairing?.approve());
    times(scenario.pairing.links, () => void pairing?.link());
  }
  const wallOfFirst = (): number => nodes.wall("a");
  const callers = makeCallers({ ...ask("callers"), scheduler, wall: wallOfFirst, isActive: () => faults.active });
  if (scenario.callers) callers.start(random.int(...scenario.callers));
  const approvers = makeApprovers({
    ...{ ...ask("approvers"), scheduler, files: world.files, people: workload.conversations, wall: wallOfFirst },
    late: scenario.approvals?.late,
  });
  if (scenario.approvals) {
    approvers.start();
    times(scenario.approvals.changes, approvers.change);
  }
  const records = makeRecords({ ...ask("records"), wall: wallOfFirst, people: workload.conversations });
  if (scenario.records) times(scenario.records, () => records.change());
  const revocations = makeRevocations({ ...ask("rights"), people: workload.conversations, wall: wallOfFirst });
  if (scenario.rights) {
    revocations.start();
    times(scenario.rights.changes, revocations.change);
  }
  const rules = makeRuleChanges({ ...ask("rules"), wall: wallOfFirst });
  times(scenario.rules?.changes, () => void rules.change());
  const trees = makeTreeStops(ask("trees"));
  if (scenario.treeStops) times(scenario.treeStops, () => void trees.stop());
  if (scenario.removals) times(scenario.removals, () => void trees.remove());
  scheduler.after(faultsEnd, () => {
    log.write("world", "the faults end");
    faults.active = false;
    plan.stop();
  });
  const operator = makeOperator({
    backend: world.backend,
    log,
    random: world.random.fork("operator"),
    wall: wallOfFirst,
    permanentAgents: world.participants.permanentAgents,
  });
  const mailboxes = world.channels.find(({ name }) => name === "api");
  if (mailboxes) startReaders({ ...ask("readers"), scheduler, channel: mailboxes }, workload.readers);
  // Every node starts again, with a connector to the channel that had none.
  if (scenario.workload.routes?.includes("later")) {
    for (const node of world.names) scheduler.after(faultsEnd + random.int(500, 3_000), () => nodes.drain(node));
  }
  times(scenario.permanentAgents?.describes, operator.describe);
  times(scenario.permanentAgents?.removals, operator.remove);
  // The index of a home: a shared store has one of its own.
  const hasIndex = scenario.search && !options.postgres;
  const index = hasIndex ? startIndex(world, nodes, world.random.fork("index"), faultsEnd) : undefined;
  return { faultsEnd, aborts, branches, callers, jobs, operator, approvers, peopleActs, pairing, index };
}

function killTimes({ kills }: Scenario, random: Random): readonly number[] {
  if (!kills) return [];
  const { count, gaps } = kills;
  let at = 0;
  return Array.from({ length: random.int(...count) }, (_, n) => {
    at += random.int(...(gaps[n % gaps.length] ?? gaps[0]));
    return at;
  });
}

const STRIKES = {
  outage: { text: "is away", longestMs: 8_000 },
  diskFull: { text: "is full", longestMs: 5_000 },
} as const;

function strikeStore({ faults, log, scheduler }: World, random: Random, kind: keyof typeof STRIKES): void {
  faults[kind] = true;
  log.write("store", STRIKES[kind].text);
  scheduler.after(random.int(300, STRIKES[kind].longestMs), () => {
    faults[kind] = false;
  });
}

function jumpClocks({ names, log }: World, nodes: Nodes, random: Random): void {
  const ms = random.int(1_000, 2 * MAX_SKEW_MS) * (random.chance(0.5) ? 1 : -1);
  const jumping = random.chance(0.5) ? names : [random.pick(names)];
  for (const node of jumping) nodes.jumpClock(node, ms);
  log.write("clock", `of ${jumping.join(" ")} jumps by ${ms}`);
}
