/** Measures what the plain files add: the same work on two homes in turns, one of them with plain files. */
import { join } from "node:path";
import { type MirrorHandle, startMirror } from "../../src/adapters/store/files/start-mirror.ts";
import { DATABASE_FILE, openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import { median } from "../statistics.ts";
import { populate, spread } from "./population.ts";
import { type StoreWriters, storeWriters } from "./through-store.ts";
import { WRITERS } from "./workload.ts";

export interface PlainFilesCost {
  /** The share of the time that the plain files take, with everything on the disk at the end of each round. */
  readonly share: number;
  /** The share of the processor time that the plain files take, both threads together. */
  readonly cpuShare: number;
  /** How far the files were behind when a round's last message was durable, in milliseconds. */
  readonly lagMs: number;
}

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
}

export async function plainFilesCost(
  without: string,
  withFiles: string,
  rounds: number,
  messages: number,
): Promise<PlainFilesCost> {
  // The agents already exist: creating a folder for each is not part of a message.
  for (const home of [without, withFiles]) await populate(home, WRITERS);
  const databasePath = join(withFiles, DATABASE_FILE);
  let mirror: MirrorHandle | undefined;
  const bare = openSqliteStore({ home: without });
  const mirrored = openSqliteStore({ home: withFiles, onCommitted: () => mirror?.nudge() });
  mirror = startMirror({ home: withFiles, databasePath, log: silentLog });
  const agents = spread(WRITERS, WRITERS);
  const [first, second] = [await storeWriters(bare, agents), await storeWriters(mirrored, agents)];
  await first.run(messages / 4);
  await second.run(messages / 4);
  await mirror.flush();
  const shares: number[] = [];
  const cpuShares: number[] = [];
  const lags: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const a = await costOf(first, messages);
    const b = await costOf(second, messages, async () => {
      lags.push(mirror.lag().ms);
      await mirror.flush();
    });
    shares.push((b.ms - a.ms) / b.ms);
    cpuShares.push((b.cpuMs - a.cpuMs) / b.cpuMs);
  }
  await bare.close();
  await mirrored.close();
  await mirror.stop();
  return { share: median(shares), cpuShare: median(cpuShares), lagMs: Math.max(...lags) };
}

async function costOf(writers: StoreWriters, messages: number, atTheEnd = async () => {}): Promise<Cost> {
  const begun = performance.now();
  const cpu = process.cpuUsage();
  await writers.run(messages);
  await atTheEnd();
  const used = process.cpuUsage(cpu);
  return { ms: performance.now() - begun, cpuMs: (used.user + used.system) / 1_000 };
}
