/**
 * The engine under `kill -9`: at each kill at least twenty runs are in flight, at a third of the kills a tool is
 * executing. The outside world survives the kills, and its records are audited.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "../../../src/adapters/store/sqlite/database.ts";
import { readerOf } from "../../../src/adapters/store/sqlite/reader.ts";
import { randomOf } from "../../kit/random.ts";
import type { CrashOptions, CrashReport, CrashTarget } from "../target.ts";
import { startVictim, type Victim } from "../victim.ts";
import { audit } from "./audit.ts";
import { Outside } from "./outside.ts";
import type { FromChild, ToChild } from "./wire.ts";

const CHILD = new URL("./child.ts", import.meta.url);
const KILLS_PER_HOME = 50;

export interface EngineCrashOptions extends CrashOptions {
  /** A way to break a law that the audit must find. */
  readonly mutation?: "tool-again" | "send-again";
}

export const engineTarget: CrashTarget = { name: "engine", run: crashEngine };

export async function crashEngine(options: EngineCrashOptions): Promise<CrashReport> {
  const counts: Record<string, number> = {
    kills: 0,
    "runs in flight at a kill, least": Number.POSITIVE_INFINITY,
    "kills during a tool": 0,
  };
  const problems: string[] = [];
  for (let home = 0; (counts.kills ?? 0) < options.kills && problems.length === 0; home++) {
    const path = mkdtempSync(join(tmpdir(), "rookery-crash-"));
    const lives = Math.min(KILLS_PER_HOME, options.kills - (counts.kills ?? 0));
    const seen = await oneHome(options, path, lives, `${options.seed}/${home}`, counts);
    problems.push(...seen.problems.map((problem) => `home ${home}: ${problem}`));
    for (const [what, count] of Object.entries(seen.counts)) counts[what] = (counts[what] ?? 0) + count;
    options.say(`${counts.kills} kills, ${(counts["messages written"] ?? 0).toLocaleString("en")} messages`);
    if (problems.length === 0) rmSync(path, { recursive: true, force: true });
  }
  return { problems, counts };
}

async function oneHome(
  options: EngineCrashOptions,
  path: string,
  lives: number,
  seed: string,
  counts: Record<string, number>,
) {
  const random = randomOf(seed);
  let victim: Victim | undefined;
  const outside = new Outside((said: ToChild) => victim?.tell(JSON.stringify(said)));
  const args = [path, ...(options.mutation ? [options.mutation] : [])];
  let onNow: (runs: number, tools: number) => void = () => {};
  const start = async (): Promise<Victim> => {
    const up = Promise.withResolvers<void>();
    const started = startVictim(CHILD, args, (line) => {
      const said = JSON.parse(line) as FromChild;
      outside.hear(said);
      if (said.say === "up") up.resolve();
      if (said.say === "now") onNow(said.runs, said.tools);
    });
    victim = started;
    await Promise.race([up.promise, sleep(60_000)]);
    const alone = started.diedAlone();
    if (alone) throw new Error(`The engine ${alone}`);
    outside.reconnect();
    return started;
  };

  for (let life = 0; life < lives; life++) {
    const started = await start();
    const duringTool = life % 3 === 0;
    const now = new Promise<{ runs: number; tools: number }>((resolve) => {
      onNow = (runs, tools) => resolve({ runs, tools });
    });
    await sleep(random.int(20, 400));
    started.tell(JSON.stringify({ say: "when", what: duringTool ? "tool" : "runs" } satisfies ToChild));
    const { runs, tools } = await now;
    if (!duringTool) await sleep(random.int(0, 30));
    await started.kill();
    counts.kills = (counts.kills ?? 0) + 1;
    counts["runs in flight at a kill, least"] = Math.min(counts["runs in flight at a kill, least"] ?? runs, runs);
    if (tools > 0) counts["kills during a tool"] = (counts["kills during a tool"] ?? 0) + 1;
  }

  // The last process is not killed: it runs until all work has ended.
  outside.open = false;
  const last = await start();
  while (outside.written.some((message) => !message.acknowledged)) {
    await sleep(20);
    if (last.diedAlone()) break;
  }
  last.tell(JSON.stringify({ say: "end" } satisfies ToChild));
  await last.said(JSON.stringify({ say: "quiet" } satisfies FromChild));
  await last.over();
  const db = openDatabase(join(path, "rookery.db"), { readOnly: true });
  try {
    return await audit(readerOf(db), outside);
  } finally {
    db.close();
  }
}
