/** Measures how many answers several nodes produce together: every agent gets its next message as soon as it has answered. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { secondsOf, shareOf } from "../processes.ts";

export interface Throughput {
  readonly perSecond: number;
  /** Shares of all processors of this machine. */
  readonly nodes: number;
  readonly database: number;
  /** The process that writes to the agents and receives their answers: this one. */
  readonly load: number;
  /** Used by all processes, including these three. */
  readonly machine: number;
}

export interface ThroughputOptions {
  readonly url: string;
  /** The database server, to measure its processor time. */
  readonly serverPid: number;
  readonly nodes: number;
  readonly agents: number;
  readonly lane: number;
  readonly modelMs: number;
  readonly warmMs: number;
  readonly measureMs: number;
}

const CHILD = fileURLToPath(new URL("./node-child.ts", import.meta.url));

export async function throughput(options: ThroughputOptions): Promise<Throughput> {
  const homes: string[] = [];
  let done = 0;
  let sent = 0;
  const started = Date.now();
  const children = Array.from({ length: options.nodes }, () => {
    const home = mkdtempSync(join(tmpdir(), "rookery-scale-"));
    homes.push(home);
    const args = [CHILD, home, options.url, String(options.lane), String(options.modelMs)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    const up = Promise.withResolvers<void>();
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line) as { up?: true; done?: string };
      if (said.up) up.resolve();
      if (said.done === undefined) return;
      done += 1;
      write(said.done);
    });
    child.on("exit", () => up.resolve());
    return { child, up: up.promise };
  });
  let open = true;
  /** An agent's messages always reach the same node, as a conversation's do. */
  function write(to: string): void {
    if (!open) return;
    const at = children[Number(to.slice(1)) % children.length];
    at?.child.stdin.write(`${JSON.stringify({ to, id: `${started}-${sent++}` })}\n`);
  }
  try {
    await Promise.all(children.map(({ up }) => up));
    for (let n = 0; n < options.agents; n++) write(`a${n}`);
    await sleep(options.warmMs);
    const used = () => ({
      nodes: children.reduce((sum, { child }) => sum + secondsOf(child.pid ?? 0), 0),
      database: secondsOf(options.serverPid),
      load: process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
    });
    const [before, busyBefore, usedBefore, at] = [done, busyShare(), used(), performance.now()];
    await sleep(options.measureMs);
    const seconds = (performance.now() - at) / 1_000;
    const after = used();
    const share = (who: keyof typeof after): number => shareOf(after[who] - usedBefore[who], seconds);
    return {
      perSecond: (done - before) / seconds,
      nodes: share("nodes"),
      database: share("database"),
      load: share("load"),
      machine: between(busyBefore, busyShare()),
    };
  } finally {
    open = false;
    for (const { child } of children) child.stdin.write(`${JSON.stringify({ end: true })}\n`);
    await Promise.all(children.map(({ child }) => new Promise((resolve) => child.once("exit", resolve))));
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  }
}

/** Busy and total ticks of all processors. */
function busyShare(): { busy: number; total: number } {
  try {
    const [, ...ticks] = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "").split(/\s+/).map(Number);
    const total = ticks.slice(0, 8).reduce((sum, tick) => sum + tick, 0);
    return { busy: total - (ticks[3] ?? 0) - (ticks[4] ?? 0), total };
  } catch {
    const times = cpus().map(({ times: each }) => each);
    const total = times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
    return { busy: total - times.reduce((sum, { idle }) => sum + idle, 0), total };
  }
}

const between = (a: { busy: number; total: number }, b: { busy: number; total: number }): number =>
  (b.busy - a.busy) / Math.max(1, b.total - a.total);
