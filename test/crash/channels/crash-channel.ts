/**
 * A channel under `kill -9`: people write while the process is killed and the platform has faults. The platform outlives the kills; what it
 * was given and what it shows is compared with the store afterwards.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Random, randomOf } from "../../kit/random.ts";
import type { CrashOptions, CrashReport } from "../target.ts";
import { startVictim, type Victim } from "../victim.ts";
import { auditChannel } from "./audit.ts";

export interface ChannelWorld {
  /** The `connectors` of the configuration. */
  readonly connectors: object;
  /** One person does one thing, or the platform gets a fault. Returns what it was. `token` makes the mark of a message. */
  act(random: Random, token: () => string): string;
  /** What the platform has not brought yet. */
  pending(): number;
  shown(): readonly string[];
  counts(): Readonly<Record<string, number>>;
  mayBeLost?(): ReadonlySet<string>;
  close(): Promise<void>;
}

export type OpenWorld = (gateway: string) => Promise<ChannelWorld>;

const CHILD = new URL("./child.ts", import.meta.url);
const KILLS_PER_REPORT = 10;
const QUIET_MS = 180_000;

export async function crashChannel(name: string, open: OpenWorld, options: CrashOptions): Promise<CrashReport> {
  const { kills, seed, say } = options;
  const port = await freePort();
  const world = await open(`http://127.0.0.1:${port}`);
  const home = mkdtempSync(join(tmpdir(), `rookery-crash-${name}-`));
  const random = randomOf(seed);
  const tokens: string[] = [];
  const counts: Record<string, number> = { kills: 0 };
  const token = (): string => {
    const next = `⟦t${tokens.length}⟧`;
    tokens.push(next);
    return next;
  };
  const start = async (): Promise<Victim> => {
    const victim = startVictim(CHILD, [home, String(port), JSON.stringify(world.connectors)], () => {});
    if (!(await victim.said("up"))) throw new TypeError(`The engine ${victim.diedAlone() ?? "did not start"}`);
    return victim;
  };
  for (let kill = 0; kill < kills; kill++) {
    const victim = await start();
    const until = performance.now() + random.int(200, 2_500);
    while (performance.now() < until) {
      const what = world.act(random, token);
      counts[what] = (counts[what] ?? 0) + 1;
      await sleep(random.int(20, 150));
    }
    await victim.kill();
    counts.kills = kill + 1;
    if ((kill + 1) % KILLS_PER_REPORT === 0)
      say(`${kill + 1} kills, ${tokens.length} messages, ${world.shown().length} answers shown`);
  }
  say(`${kills} kills; waiting until everything is answered`);
  const last = await start();
  for (const end = performance.now() + QUIET_MS; world.pending() > 0 && performance.now() < end; ) await sleep(50);
  last.tell("end");
  await last.said("quiet");
  await last.over();
  const seen = {
    tokens,
    shown: world.shown(),
    counts: { ...counts, ...world.counts() },
    mayBeLost: world.mayBeLost?.(),
  };
  const report = auditChannel(join(home, "rookery.db"), seen);
  const left = world.pending() > 0 ? [`${world.pending()} requests were never taken`] : [];
  await world.close();
  const problems = [...report.problems, ...left];
  if (problems.length === 0) rmSync(home, { recursive: true, force: true });
  return { ...report, problems };
}

/** A port for every life of the process. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Brings a request to an account; 0 if nothing answered. */
export async function bringOver(
  url: string,
  { body, headers }: { readonly body: string; readonly headers: Record<string, string> },
): Promise<number> {
  try {
    const signal = AbortSignal.timeout(10_000);
    const answer = await fetch(url, { method: "POST", body, headers, signal });
    await answer.text();
    return answer.status;
  } catch {
    return 0;
  }
}
