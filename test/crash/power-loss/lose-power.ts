/** Loses power at many moments of a recording and audits each possible disk afterwards. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startMirror } from "../../../src/adapters/store/files/start-mirror.ts";
import { DATABASE_FILE, openSqliteStore } from "../../../src/adapters/store/sqlite/open-store.ts";
import { silentLog } from "../../../src/core/ports/log.ts";
import { type Random, randomOf } from "../../kit/random.ts";
import { auditDatabase } from "../store/audit.ts";
import { auditFiles } from "../store/audit-files.ts";
import { hear, noPromises, type Promised } from "../store/promises.ts";
import { type DiskEvents, diskEvents } from "./disk-events.ts";
import { type Fate, writeImage } from "./image.ts";
import { record } from "./record.ts";
import { systemCalls } from "./system-calls.ts";

export interface PowerLossOptions {
  readonly synchronous: "full" | "normal" | "off";
  readonly seed: string;
  /** How many promises the recorded process makes before it ends. */
  readonly promises: number;
  readonly images: number;
  /** Whether the plain files also catch up in each image and are compared. */
  readonly plainFiles?: boolean;
}

export interface PowerLossReport {
  readonly problems: readonly string[];
  readonly promises: number;
  readonly flushes: number;
  /** How often the log started again after a checkpoint: both must have been cut into. */
  readonly logBegun: number;
  readonly images: number;
}

const FATES: readonly Fate[] = ["lost", "mixed", "kept", "mixed"];

export async function losePower(options: PowerLossOptions): Promise<PowerLossReport> {
  const root = mkdtempSync(join(tmpdir(), "rookery-power-"));
  try {
    const { home, traceFile } = record(root, options.synchronous, options.promises);
    const events = diskEvents(systemCalls(readFileSync(traceFile, "latin1")), home);
    const random = randomOf(options.seed);
    const problems: string[] = [];
    for (let n = 0; n < options.images; n++) {
      const cut = chooseCut(events, random);
      const onCommit = FATES[n % FATES.length] ?? "lost";
      const image = join(root, `image-${n}`);
      writeImage(events, home, cut, onCommit, random, image);
      const found = await auditImage(image, promisedBefore(events, cut), options.plainFiles ?? false);
      problems.push(...found.map((problem) => `image ${n} (line ${cut}, unflushed writes ${onCommit}): ${problem}`));
      rmSync(image, { recursive: true, force: true });
    }
    const promised = promisedBefore(events, Number.POSITIVE_INFINITY);
    return {
      problems,
      promises: promised.accepted.size + promised.answered.size,
      flushes: events.syncs.length,
      logBegun: timesBegun(events, `${join(home, DATABASE_FILE)}-wal`),
      images: options.images,
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function timesBegun(events: DiskEvents, path: string): number {
  const files = events.names.filter((event) => event.what === "create" && event.path === path);
  const numbers = new Set(files.map((event) => (event.what === "create" ? event.file : -1)));
  return events.data.filter((event) => event.what === "write" && event.offset === 0 && numbers.has(event.file)).length;
}

/** Picks a moment right after a promise, where a lost write is worst, or any moment after the first promise. */
function chooseCut(events: DiskEvents, random: Random): number {
  const first = events.said[0]?.ended;
  if (first === undefined) throw new Error("The recorded process promised nothing.");
  return random.chance(0.6) ? random.pick(events.said).ended + 1 : random.int(first, events.last);
}

function promisedBefore(events: DiskEvents, cut: number): Promised {
  const promised = noPromises();
  const text = events.said.filter((said) => said.ended < cut).map((said) => said.text);
  for (const line of text.join("").split("\n")) hear(promised, line);
  return promised;
}

async function auditImage(image: string, promised: Promised, plainFiles: boolean): Promise<string[]> {
  try {
    const store = openSqliteStore({ home: image });
    try {
      if (!plainFiles) return auditDatabase(image, promised).problems;
      const mirror = startMirror({ home: image, databasePath: join(image, DATABASE_FILE), log: silentLog });
      await mirror.flush();
      const problems = [...auditDatabase(image, promised).problems, ...auditFiles(image)];
      await mirror.stop();
      return problems;
    } finally {
      await store.close();
    }
  } catch (error) {
    return [`The store cannot be opened: ${(error as Error).message}`];
  }
}
