/**
 * The store under `kill -9`: a process works under load on a home, is killed at a random moment (at work, while it opens,
 * while its plain files catch up), started again and audited, many times over the same home and over several homes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Random, randomOf } from "../../kit/random.ts";
import type { CrashOptions, CrashReport, CrashTarget } from "../target.ts";
import { startVictim } from "../victim.ts";
import { auditDatabase } from "./audit.ts";
import { auditFiles } from "./audit-files.ts";
import { hear, noPromises, type Promised } from "./promises.ts";

const CHILD = new URL("./child.ts", import.meta.url);
/** Lives of one home. Bounded, because every audit reads all of it. */
const KILLS_PER_HOME = 20;
/** The maximum number of promises of one life. */
const MAX_PROMISES = 1_500;
const MAX_LIFE_MS = 5_000;

export interface StoreCrashOptions extends CrashOptions {
  /** A mutation that breaks the promises; the audit must find it. */
  readonly mutation?: "ack-early";
}

export const storeTarget: CrashTarget = { name: "store", run: crashStore };

export async function crashStore(options: StoreCrashOptions): Promise<CrashReport> {
  const counts = {
    kills: 0,
    "killed while opening": 0,
    "promises kept": 0,
    "committed but never reported": 0,
    "runs resumed": 0,
  };
  const problems: string[] = [];
  for (let home = 0; counts.kills < options.kills && problems.length === 0; home++) {
    const path = mkdtempSync(join(tmpdir(), "rookery-crash-"));
    const random = randomOf(`${options.seed}/${home}`);
    const promised = noPromises();
    const lives = Math.min(KILLS_PER_HOME, options.kills - counts.kills);
    let untold = 0;
    for (let life = 0; life < lives && problems.length === 0; life++) {
      const seen = await oneLife(options, { path, life, random, promised, mayDieEarly: life > 0 });
      problems.push(...seen.problems.map((problem) => `home ${home}, life ${life}: ${problem}`));
      counts.kills += 1;
      counts["killed while opening"] += seen.opened ? 0 : 1;
      counts["runs resumed"] += seen.openRuns;
      untold = Math.max(untold, seen.untold);
    }
    // The last kill is audited too, in a life without load.
    const last = await oneLife(options, { path, life: lives, random, promised, mayDieEarly: false, idle: true });
    problems.push(...last.problems.map((problem) => `home ${home}, at the end: ${problem}`));
    counts["committed but never reported"] += Math.max(untold, last.untold);
    counts["promises kept"] += promised.accepted.size + promised.answered.size;
    options.say(`${counts.kills} kills, ${counts["promises kept"].toLocaleString("en")} promises kept`);
    rmSync(path, { recursive: true, force: true });
  }
  return { problems, counts };
}

interface Life {
  readonly path: string;
  readonly life: number;
  readonly random: Random;
  readonly promised: Promised;
  readonly mayDieEarly: boolean;
  readonly idle?: boolean;
}

interface Seen {
  readonly problems: string[];
  readonly opened: boolean;
  readonly untold: number;
  readonly openRuns: number;
}

async function oneLife(options: StoreCrashOptions, life: Life): Promise<Seen> {
  const { path, random, promised } = life;
  const args = ["--home", path, "--seed", options.seed, "--life", String(life.life)];
  if (options.mutation) args.push("--mutation", options.mutation);
  let heard = 0;
  let wanted = Number.POSITIVE_INFINITY;
  let enough = (): void => {};
  const victim = startVictim(CHILD, args, (line) => {
    hear(promised, line);
    heard += 1;
    if (heard >= wanted) enough();
  });
  let seen: Seen = { problems: [], opened: false, untold: 0, openRuns: 0 };
  if (life.mayDieEarly && random.chance(0.2)) {
    await sleep(random.int(0, 400));
  } else if (await victim.said("ready")) {
    const audit = auditDatabase(path, promised);
    seen = { ...audit, problems: [...audit.problems, ...auditFiles(path)], opened: true };
    if (!life.idle) {
      // Kill a little after a given number of promises, so that work is in flight on a busy and on an idle machine.
      const reported = new Promise<void>((resolve) => {
        enough = resolve;
      });
      wanted = heard + random.int(1, MAX_PROMISES);
      victim.tell("go");
      await Promise.race([reported, sleep(MAX_LIFE_MS)]);
      await sleep(random.int(0, 10));
    }
  }
  await victim.kill();
  const alone = victim.diedAlone();
  return alone === undefined ? seen : { ...seen, problems: [...seen.problems, alone] };
}
