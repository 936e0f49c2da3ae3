/**
 * A run that kills its process whenever it is executed, among others: it is found and failed visibly, and everybody else is
 * answered, also while it is being tried (M13).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "../../../src/adapters/store/sqlite/database.ts";
import { readerOf } from "../../../src/adapters/store/sqlite/reader.ts";
import type { CrashOptions, CrashReport } from "../target.ts";
import { startVictim, type Victim } from "../victim.ts";
import { audit } from "./audit.ts";
import { type Crowd, Outside } from "./outside.ts";
import type { FromChild, ToChild } from "./wire.ts";

const CHILD = new URL("./child.ts", import.meta.url);
const KILLER = "killer";
const NEIGHBOURS: readonly Crowd[] = [
  { people: 8, ahead: 1, takesMs: 100 },
  { people: 6, ahead: 1, takesMs: 5_000 },
];
/** Two crashes, the halvings of at most 32 suspects, three deaths alone. */
const MOST_DEATHS = 2 + 5 + 3;
const LIMIT_MS = 10 * 60_000;

export async function crashByRun({ say }: Pick<CrashOptions, "say">): Promise<CrashReport> {
  const path = mkdtempSync(join(tmpdir(), "rookery-crash-"));
  let victim: Victim | undefined;
  const outside = new Outside((said: ToChild) => victim?.tell(JSON.stringify(said)), NEIGHBOURS);
  const problems: string[] = [];
  const began = performance.now();
  let deaths = 0;
  let answered = 0;

  async function start(): Promise<Victim> {
    const up = Promise.withResolvers<void>();
    outside.disconnect();
    victim = startVictim(CHILD, [path], (line) => {
      const said = JSON.parse(line) as FromChild;
      outside.hear(said);
      if (said.say === "up") up.resolve();
      if (said.say === "dying") deaths += 1;
    });
    await Promise.race([up.promise, sleep(60_000, undefined, { ref: false })]);
    outside.reconnect();
    return victim;
  }

  let living = await start();
  outside.writeOnce(KILLER, " kills");
  const failed = (): boolean => outside.shown.some(({ person }) => person === KILLER);
  while (!failed() && performance.now() - began < LIMIT_MS) {
    await sleep(50);
    if (!living.diedAlone()) continue;
    say(`death ${deaths} by the run, ${outside.shown.length - answered} neighbours answered since the last one`);
    answered = outside.shown.length;
    living = await start();
  }
  const seconds = Math.round((performance.now() - began) / 1_000);
  if (!failed()) problems.push(`the run that kills was not failed within ${seconds} s and ${deaths} deaths`);
  if (deaths > MOST_DEATHS)
    problems.push(`the run killed the process ${deaths} times, expected at most ${MOST_DEATHS}`);
  outside.open = false;
  living.tell(JSON.stringify({ say: "end" } satisfies ToChild));
  await living.said(JSON.stringify({ say: "quiet" } satisfies FromChild));
  await living.over();
  const db = openDatabase(join(path, "rookery.db"), { readOnly: true });
  try {
    const seen = await audit(readerOf(db), outside);
    problems.push(...seen.problems);
    return {
      problems,
      counts: {
        "deaths by the run that kills": deaths,
        "seconds until it was failed": seconds,
        "its neighbours answered": seen.counts.answered ?? 0,
        "its neighbours failed": (seen.counts.failed ?? 0) - 1,
      },
    };
  } finally {
    db.close();
    if (problems.length === 0) rmSync(path, { recursive: true, force: true });
  }
}
