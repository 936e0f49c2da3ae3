/**
 * Measures what it costs to add a job and to fire one, with a hundred jobs in the store and with a hundred thousand, on a
 * real file with plain files; and what a hundred thousand jobs cost while none is due.
 */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedStore } from "../src/adapters/store/open-embedded-store.ts";
import { systemClock } from "../src/adapters/system/system-clock.ts";
import { systemIds } from "../src/adapters/system/system-ids.ts";
import { homePaths } from "../src/config/paths.ts";
import { silentLog } from "../src/core/ports/log.ts";
import type { Model } from "../src/core/ports/model.ts";
import type { CronJob } from "../src/core/schedule/job.ts";
import type { Op } from "../src/core/store/change.ts";
import { AgentSystem } from "../src/engine/agents/agent-system.ts";
import { Triggers } from "../src/engine/triggers/triggers.ts";
import { testSettings } from "../test/kit/settings.ts";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";

const FEW = 100;
const MANY = 100_000;
const ROUNDS = 3;
const PORTIONS = 9;
const PORTION = 60;
const IDLE_MS = 30_000;
/** Time for the clean-up after creating the jobs, which is not part of the idle cost. */
const SETTLE_MS = 20_000;
const YEAR_MS = 365 * 86_400_000;

interface Costs {
  /** Microseconds of this process, all threads, per job. */
  readonly add: number;
  readonly fire: number;
  /** Share of one core, in percent. */
  readonly idle: number;
}

export const triggersBench: Bench = {
  about: "adding and firing a job with few and with many in the store, and many that are not due",
  async run(say) {
    const few: Costs[] = [];
    const many: Costs[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      few.push(await costsWith(FEW, round === 1));
      many.push(await costsWith(MANY, round === 1));
      const shown = ({ add, fire }: Costs): string => `add ${Math.round(add)} µs, fire ${Math.round(fire)} µs`;
      say(
        `round ${round}: with ${FEW}: ${shown(few.at(-1) as Costs)}; with ${MANY.toLocaleString("en")}: ${shown(many.at(-1) as Costs)}`,
      );
    }
    const of = (all: readonly Costs[], what: keyof Costs): number => median(all.map((one) => one[what]));
    const idle = many[0]?.idle ?? Number.NaN;
    return {
      figures: [
        { what: `adding a job with ${FEW}`, value: of(few, "add"), unit: "µs" },
        { what: `adding a job with ${MANY.toLocaleString("en")}`, value: of(many, "add"), unit: "µs" },
        { what: `firing a job with ${FEW}, its run included`, value: of(few, "fire"), unit: "µs" },
        {
          what: `firing a job with ${MANY.toLocaleString("en")}, its run included`,
          value: of(many, "fire"),
          unit: "µs",
        },
        { what: `idle with ${FEW}`, value: few[0]?.idle ?? Number.NaN, unit: "% of a core" },
      ],
      goals: [
        {
          what: "adding, many against few",
          goal: 1.3,
          better: "less",
          measured: of(many, "add") / of(few, "add"),
          unit: "×",
        },
        {
          what: "firing, many against few",
          goal: 1.3,
          better: "less",
          measured: of(many, "fire") / of(few, "fire"),
          unit: "×",
        },
        {
          what: `idle with ${MANY.toLocaleString("en")} jobs`,
          goal: 0.5,
          better: "less",
          measured: idle,
          unit: "% of a core",
        },
      ],
    };
  },
};

const job = (id: string, now: number): CronJob => ({
  id,
  name: `job ${id}`,
  enabled: true,
  createdAtMs: now,
  updatedAtMs: now,
  schedule: { kind: "every", everyMs: YEAR_MS, anchorMs: now },
  sessionTarget: "isolated",
  wakeMode: "next-heartbeat",
  payload: { kind: "agentTurn", message: "look whether there is anything new" },
  revision: 1,
  state: { nextRunAtMs: now + YEAR_MS },
});

const model: Model = {
  call: async () => ({
    content: [{ type: "text", text: "HEARTBEAT_OK" }],
    stopReason: "stop",
    api: "b",
    provider: "b",
    model: "b",
  }),
};

async function costsWith(count: number, measureIdle: boolean): Promise<Costs> {
  const home = mkdtempSync(join(tmpdir(), "rookery-bench-"));
  const paths = homePaths(home);
  mkdirSync(paths.agents, { recursive: true });
  const [clock, ids, log] = [systemClock, systemIds(), silentLog];
  const embedded = await openEmbeddedStore({
    paths,
    synchronous: "normal",
    ids,
    now: clock.now(),
    log,
    onFatal: (error) => console.error(error),
  });
  try {
    const { store } = embedded;
    for (let n = 0; n < count; n += 1_000) {
      const ops = Array.from(
        { length: Math.min(1_000, count - n) },
        (_, i): Op => ({ op: "job.put", job: job(`old-${n + i}`, clock.now()) }),
      );
      await store.commit({ id: ids.change(), site: "bench", at: clock.now(), ops });
    }
    await embedded.mirror.flush();
    const ports = {
      ...{ clock, ids, log, store, model, connectors: new Map() },
      tools: { list: () => [], find: () => undefined },
      files: { write: async (name: string) => name, read: async () => undefined },
    };
    const settings = testSettings();
    const triggers = new Triggers(ports, { settings });
    const system = new AgentSystem(ports, {
      nodeName: "bench",
      settings,
      hooks: triggers.hooks,
      resolveModel: () => ({ model: "b", system: "" }),
    });
    await system.load();
    await system.start();
    await triggers.start(system);
    const idle = measureIdle ? await idleShare() : 0;
    const add = await cost(async (portion) => {
      for (let n = 0; n < PORTION; n++) {
        await triggers.cron.add({
          name: `new ${portion} ${n}`,
          schedule: { kind: "at", atMs: clock.now() + YEAR_MS },
          payload: { kind: "agentTurn", message: "work" },
        });
      }
      await embedded.mirror.flush();
    });
    const fire = await cost(async (portion) => {
      const now = clock.now();
      const ops = Array.from({ length: PORTION }, (_, n): Op => {
        const due = job(`due-${portion}-${n}`, now);
        return { op: "job.put", job: { ...due, state: { nextRunAtMs: now } } };
      });
      await store.commit({ id: ids.change(), site: "bench", at: now, ops });
      triggers.wake();
      while ((await store.nextJobs({ before: clock.now(), limit: 1 })).length > 0)
        await new Promise((next) => setTimeout(next, 5));
      await system.settled();
      await embedded.mirror.flush();
    });
    await triggers.stop();
    await system.drain();
    return { add, fire, idle };
  } finally {
    await embedded.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** The median of several portions, because occasional work (a checkpoint, a fold of the files) is not in every portion. */
async function cost(work: (portion: number) => Promise<void>): Promise<number> {
  const portions: number[] = [];
  for (let portion = 0; portion < PORTIONS; portion++) {
    const begun = process.cpuUsage();
    await work(portion);
    const { user, system } = process.cpuUsage(begun);
    portions.push((user + system) / PORTION);
  }
  return median(portions);
}

/** Waits until everything has settled, then measures while nothing is due: the idle cost. */
async function idleShare(): Promise<number> {
  await new Promise((next) => setTimeout(next, SETTLE_MS));
  const begun = process.cpuUsage();
  await new Promise((next) => setTimeout(next, IDLE_MS));
  const { user, system } = process.cpuUsage(begun);
  return ((user + system) / 1_000 / IDLE_MS) * 100;
}
