/**
 * The engine under `kill -9`: in tests at each kill at least twenty runs are in flight, at a third of the kills a tool is
 * executing. The outside world survives the kills, and its records are audited. The command kills every one to three
 * seconds, with steps of 100 ms, 5 s and 60 s in the mix, and then lets a run kill the process itself.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "../../../src/adapters/store/sqlite/database.ts";
import { readerOf } from "../../../src/adapters/store/sqlite/reader.ts";
import { randomOf } from "../../kit/random.ts";
import type { CrashOptions, CrashReport, CrashTarget, ShortLives } from "../target.ts";
import { startVictim, type Victim } from "../victim.ts";
import { audit } from "./audit.ts";
import { crashByRun } from "./by-run.ts";
import { type Crowd, MIX, Outside } from "./outside.ts";
import type { FromChild, ToChild } from "./wire.ts";

const CHILD = new URL("./child.ts", import.meta.url);
const KILLS_PER_HOME = 150;
const KILLS_PER_REPORT = 10;
export interface EngineCrashOptions extends CrashOptions {
  /** Who writes. Default: people whose messages are answered at once. */
  readonly crowds?: readonly Crowd[];
  /** Kill after this many milliseconds, whatever is in progress. Default: soon, when enough is. */
  readonly every?: readonly [number, number];
  /** A way to break a law that the audit must find. */
  readonly mutation?: "tool-again" | "send-again";
}

export const engineTarget: CrashTarget = {
  name: "engine",
  async run(options) {
    if (options.shortLives) return crashShortLives(options, options.shortLives);
    const killed = await crashEngine({ ...options, crowds: MIX, every: [1_000, 3_000] });
    if (killed.problems.length > 0) return killed;
    options.say("Now a run kills the process itself.");
    const found = await crashByRun(options);
    return { problems: found.problems, counts: { ...killed.counts, ...found.counts } };
  },
};

/** Everyone writes again when they are answered. Work takes a good part of a life, so that all of them are often suspected. */
async function crashShortLives(options: CrashOptions, { lifeMs, people, stepMs }: ShortLives): Promise<CrashReport> {
  const crowds = [{ people, ahead: 1, takesMs: stepMs, stays: true }] as const;
  return crashEngine({ ...options, crowds, every: [Math.round(0.9 * lifeMs), Math.round(1.1 * lifeMs)] });
}

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
  const { crowds, every, say } = options;
  let victim: Victim | undefined;
  const outside = new Outside((said: ToChild) => victim?.tell(JSON.stringify(said)), crowds);
  const { mutation = "" } = options;
  const args = [path, mutation];
  let onNow: (runs: number, tools: number) => void = () => {};
  const start = async (): Promise<Victim> => {
    const up = Promise.withResolvers<void>();
    outside.disconnect();
    const started = startVictim(CHILD, args, (line) => {
      const said = JSON.parse(line) as FromChild;
      outside.hear(said);
      if (said.say === "up") up.resolve();
      if (said.say === "now") onNow(said.runs, said.tools);
    });
    victim = started;
    await Promise.race([up.promise, sleep(60_000, undefined, { ref: false })]);
    const alone = started.diedAlone();
    if (alone) throw new Error(`The engine ${alone}`);
    outside.reconnect();
    return started;
  };

  for (let life = 0; life < lives; life++) {
    const started = await start();
    const duringTool = !every && life % 3 === 0;
    const now = new Promise<{ runs: number; tools: number }>((resolve) => {
      onNow = (runs, tools) => resolve({ runs, tools });
    });
    await sleep(random.int(...(every ?? [20, 400])));
    const duringSend = mutation === "send-again" && life % 2 === 1;
    const what = every ? "any" : duringSend ? "send" : duringTool ? "tool" : "runs";
    started.tell(JSON.stringify({ say: "when", what } satisfies ToChild));
    const { runs, tools } = await now;
    if (what === "runs") await sleep(random.int(0, 30));
    await started.kill();
    counts.kills = (counts.kills ?? 0) + 1;
    counts["runs in flight at all kills"] = (counts["runs in flight at all kills"] ?? 0) + runs;
    counts["runs in flight at a kill, least"] = Math.min(counts["runs in flight at a kill, least"] ?? runs, runs);
    if (counts.kills % KILLS_PER_REPORT === 0) {
      const [written, shown] = [outside.written.length, outside.shown.length];
      say(
        `${counts.kills} kills, ${written.toLocaleString("en")} messages, ${shown.toLocaleString("en")} answers shown`,
      );
    }
    if (tools > 0) counts["kills during a tool"] = (counts["kills during a tool"] ?? 0) + 1;
  }

  const unanswered = options.shortLives ? outside.unanswered() : [];
  if (options.shortLives) {
    counts["answers while it was killed"] = (counts["answers while it was killed"] ?? 0) + outside.shown.length;
    counts["longest wait in lives"] = Math.max(counts["longest wait in lives"] ?? 0, outside.longestWait());
  }
  // The last process is not killed: it runs until all work has ended.
  outside.open = false;
  say(`${counts.kills} kills; waiting until everything is answered`);
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
    const seen = await audit(readerOf(db), outside);
    const silent = unanswered.map((name) => `${name} got no answer in ${lives} lives`);
    return { ...seen, problems: [...seen.problems, ...silent] };
  } finally {
    db.close();
  }
}
