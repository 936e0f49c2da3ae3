/** One process of the program at a commit, controlled through its command line and sampled from outside. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Sample } from "./sample-hook.ts";

const HOOK = fileURLToPath(new URL("./sample-hook.ts", import.meta.url));
/** The token of HTTP callers. */
export const TOKEN = "bench-token-0123456789abcdef";
const MAX_WAIT_MS = 60_000;
/** If the counts do not change for this long, the turn is over. */
const QUIET_MS = 60;

export interface Subject {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly home: string;
  /** The processor time and the counts so far. If it counts, waits until the counts no longer change. */
  sample(): Promise<Sample>;
  /** Ends the process and removes its home. Fails if the process failed. */
  stop(): Promise<void>;
}

/** `root`: a checkout of the commit. The process gets a fresh home, no network and no keys. */
export function startSubject(root: string, args: readonly string[], options: { count: boolean }): Subject {
  const dir = mkdtempSync(join(tmpdir(), "rookery-compare-"));
  const home = join(dir, "home");
  const samples = join(dir, "samples");
  for (const path of [home, samples]) mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(home, "rookery.json5"), JSON.stringify({ models: { default: "offline" } }), { mode: 0o600 });
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [join(root, "src/main.ts"), ...args, "--home", home], {
    cwd: root,
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      PATH,
      HOME,
      TMPDIR,
      NODE_COMPILE_CACHE,
      NODE_OPTIONS: `--require ${JSON.stringify(HOOK)}`,
      ROOKERY_BENCH_SAMPLES: samples,
      ROOKERY_BENCH_COUNT: options.count ? "1" : undefined,
      ROOKERY_TOKEN: TOKEN,
    },
  });
  let errors = "";
  child.stderr.on("data", (piece: Buffer) => {
    errors = (errors + piece.toString()).slice(-2_000);
  });
  let taken = 0;

  const take = async (): Promise<Sample> => {
    const path = join(samples, String(taken++));
    child.kill("SIGUSR2");
    for (const end = performance.now() + MAX_WAIT_MS; !existsSync(path); await sleep(2)) {
      if (child.exitCode !== null || performance.now() > end)
        throw new Error(`The process wrote no sample.\n${errors}`);
    }
    return JSON.parse(readFileSync(path, "utf8")) as Sample;
  };

  return {
    child,
    home,
    async sample() {
      let sample = await take();
      while (options.count) {
        await sleep(QUIET_MS);
        const next = await take();
        if (next.counts?.statements === sample.counts?.statements) break;
        sample = next;
      }
      return sample;
    },
    async stop() {
      const ended = once(child, "exit");
      child.stdin.end();
      if (args[0] === "serve") child.kill("SIGTERM");
      const [code] = child.exitCode === null ? ((await ended) as [number | null]) : [child.exitCode];
      rmSync(dir, { recursive: true, force: true });
      if (code !== 0) throw new Error(`The process ended with ${code}.\n${errors}`);
    },
  };
}
