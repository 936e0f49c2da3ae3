/** The nodes of a world and their lives: they start, die, are paused, come back and are drained. */

import { silentLog } from "../../../src/core/ports/log.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import { seededIds } from "../../kit/ids.ts";
import type { Random } from "../../kit/random.ts";
import { lawfulState } from "../audit/auditor.ts";
import { listAgents } from "../audit/evidence.ts";
import type { Subject, SubjectNode } from "../subjects/subject.ts";
import type { World } from "./build-world.ts";
import { type SimProcess, startProcess } from "./process.ts";
import { ROUTED_CHOICE } from "./routed-model.ts";
import { WALL_START } from "./today.ts";

export const LEASE_MS = 5_000;
/** How far a wall clock may be off. Waiting for a wall time takes at most twice as long. */
export const MAX_SKEW_MS = 60_000;
const DRAINED = "in peace";

interface Life {
  readonly process: SimProcess;
  /** Undefined until it has started. */
  readonly subject: Subject | undefined;
  readonly life: number;
}

export class Nodes {
  /** How often a process died without being drained. */
  deaths = 0;
  /** The processes that were paused, one entry per pause. */
  readonly paused: string[] = [];
  readonly #world: World;
  readonly #random: Random;
  readonly #lives = new Map<string, Life>();
  readonly #wallOffset = new Map<string, number>();
  #ending = false;
  /** The configured time zone of every node. */
  zone = "UTC";

  /** `random` is the stream of everything that happens to nodes. */
  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
  }

  /** The current life of each node. */
  get living(): readonly Life[] {
    return [...this.#lives.values()];
  }

  /** Wall time as a node sees it. */
  wall(node: string): number {
    const { scheduler, options } = this.#world;
    return WALL_START + (options.scenario.wallOffsetMs ?? 0) + scheduler.time + (this.#wallOffset.get(node) ?? 0);
  }

  jumpClock(node: string, ms: number): void {
    const skew = (this.#wallOffset.get(node) ?? 0) + ms;
    this.#wallOffset.set(node, Math.max(-MAX_SKEW_MS, Math.min(MAX_SKEW_MS, skew)));
  }

  /** Writes another zone into the configuration and asks every living node to reload it. */
  changeZone(zone: string): void {
    this.zone = zone;
    this.#world.log.write("world", `the time zone is ${zone} now`);
    for (const { process, subject } of this.living) {
      // The request of a node that dies is lost: it reads the new configuration when it starts.
      process.enter(() => void subject?.reload?.().catch(() => undefined));
    }
  }

  async start(node: string, first: boolean): Promise<void> {
    const { faults, plan, log, violations, backend, database, options, failed, embedded } = this.#world;
    const life = (this.#lives.get(node)?.life ?? 0) + 1;
    const duringFaults = faults.active;
    const process = this.#newProcess(node, life);
    this.#lives.set(node, { process, subject: undefined, life });
    if (!first) plan.onRestart();
    log.write(process.name, "starts");
    for (const listed of await listAgents(backend.reader)) violations.push(...lawfulState(listed));
    await database.reopen(embedded);
    const sound = this.#ports(process);
    const ports = options.mutatePorts?.(sound) ?? sound;
    try {
      const subject = await options.subject.start(ports, this.#settings(node));
      this.#lives.set(node, { process, subject, life });
    } catch (error) {
      if (!duringFaults) failed(`${process.name} does not start`, error);
      process.kill("because it cannot start");
    }
  }

  drain(node: string): void {
    const { log, scheduler, failed } = this.#world;
    const { process, subject } = this.#lives.get(node) ?? {};
    if (!process || !subject || process.state !== "up") return;
    log.write(process.name, "is asked to end");
    scheduler.after(30_000, () => process.kill("because it does not end"));
    process.enter(() => {
      subject.drain().then(
        () => process.kill(DRAINED),
        (error: unknown) => failed("drain", error),
      );
    });
  }

  kill(node: string): void {
    this.#lives.get(node)?.process.kill("from outside");
  }

  /** Nodes that die from now on do not come back. */
  end(): void {
    this.#ending = true;
  }

  killAll(): void {
    this.end();
    for (const { process } of this.living) process.kill("with its world");
  }

  #newProcess(node: string, life: number): SimProcess {
    const { scheduler, log, plan } = this.#world;
    return startProcess(
      {
        scheduler,
        log,
        wall: (name) => this.wall(name),
        fateAt: plan.at,
        onPause: (process) => this.#pause(process),
        onDeath: (process, why) => this.#died(process, why),
      },
      node,
      life,
    );
  }

  /** Short pauses keep the lease, long ones outlive it and the nodes that wait for its end. */
  #pause(process: SimProcess): void {
    const random = this.#random;
    this.paused.push(process.name);
    const leases = random.chance(0.35) ? 0.2 + random.next() : 1.7 + random.next() * 1.5;
    this.#world.scheduler.after(Math.round(LEASE_MS * leases), () => process.resume());
  }

  #died({ node }: SimProcess, why: string): void {
    const { faults, scheduler } = this.#world;
    const random = this.#random;
    if (why !== DRAINED) this.deaths += 1;
    if (this.#ending) return;
    const quick = !faults.active || random.chance(0.7);
    const ms = quick ? random.int(150, 1_500) : random.int(3_000, 12_000);
    scheduler.after(ms, () => void this.start(node, false));
  }

  /** The world as one process sees it. */
  #ports(process: SimProcess): Ports {
    const { random, store, routed, model, tools, files, channels } = this.#world;
    return {
      clock: process.clock,
      ids: seededIds(process.name, random.fork(`ids/${process.name}`)),
      store: store.view(process),
      model: (routed ?? model).port(process),
      tools: tools.port(process),
      files: files.port(process),
      log: silentLog,
      connectors: new Map(
        channels
          .filter((channel) => channel.connected())
          .map((channel) => [channel.name, channel.connector(process)] as const),
      ),
    };
  }

  #settings(name: string): SubjectNode {
    const { alone, participants, options } = this.#world;
    const {
      restore,
      queue,
      runMs,
      subagents,
      lanes,
      budgets,
      tokens,
      keys,
      jobs,
      context,
      reset,
      approvals,
      rights,
      rules,
      pairing,
      files,
    } = options.scenario;
    const model = keys ? ROUTED_CHOICE : undefined;
    const triggers = jobs !== undefined || options.scenario.needs.includes("triggers");
    const judged = {
      approvals: approvals !== undefined,
      rights: rights !== undefined,
      rules: rules !== undefined,
      pairing: pairing !== undefined,
    };
    const settings = { restore, queue, runMs, subagents, lanes, budgets, tokens, context, reset, files, ...judged };
    const zone = (): string => this.zone;
    return { name, leaseMs: LEASE_MS, alone, participants, model, triggers, zone, ...settings };
  }
}
