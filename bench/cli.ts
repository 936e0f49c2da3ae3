/**
 * How fast the command starts: the built package in a home with 100,000 agents, while no engine runs and while one runs. Each command
 * is measured in turns with a Node that does nothing, so that all of them meet the same machine. Processor time is the mean: the
 * kernel counts it in steps of ten milliseconds.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { type Bench, type Goal, printTable } from "./report.ts";
import { median } from "./statistics.ts";
import { populate } from "./store/population.ts";

const TIMES = Number(process.env.ROOKERY_BENCH_TIMES ?? 20);
const AGENTS = 100_000;
const OVER_NODE_MS = 100;
const LIST_MS = 200;

const BIN = fileURLToPath(new URL("../dist/bin.js", import.meta.url));

/** What `rookery setup` writes on this machine, and no call of a model. */
const CONFIG = {
  models: { default: "anthropic/claude-sonnet-4-5" },
  session: { timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone },
  budgets: { day: { dollars: 5 } },
};

interface Measured {
  readonly name: string;
  readonly args: readonly string[];
  readonly wall: number[];
  cpuMs: number;
}

export const cliBench: Bench = {
  about: "how fast the command starts: --version, --help, status and agents list, without and with a running engine",
  async run(say) {
    if (!existsSync(BIN)) {
      say("building the package");
      spawnSync("npm", ["run", "build"], { stdio: "inherit" });
    }
    const home = mkdtempSync(join(tmpdir(), "rookery-bench-cli-"));
    try {
      writeFileSync(join(home, "rookery.json5"), JSON.stringify(CONFIG));
      say(`a home with ${AGENTS.toLocaleString("en")} agents`);
      await populate(home, AGENTS);
      markFilesWritten(home);
      const stopped = measure(commandsIn(home));
      const engine = await startEngine(home);
      const running = measure(commandsIn(home));
      await stopEngine(engine);
      table(stopped, running);
      return reportOf(stopped, running);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
};

/** The engine would write the plain files of all agents while the commands are measured. */
function markFilesWritten(home: string): void {
  const db = new DatabaseSync(join(home, "rookery.db"), { readOnly: true });
  const last = db.prepare("SELECT n, id FROM changes ORDER BY n DESC LIMIT 1").get();
  db.close();
  const mark = { version: 1, synced: last?.n ?? 0, change: last?.id ?? null, at: 1, clean: true };
  writeFileSync(join(home, "mirror.json"), JSON.stringify(mark));
}

const commandsIn = (home: string): readonly Measured[] =>
  [
    ["node -e 0", "-e", "0"],
    ["--version", BIN, "--version"],
    ["--help", BIN, "--help"],
    ["status", BIN, "status", "--home", home],
    ["agents list", BIN, "agents", "list", "--home", home],
  ].map(([name = "", ...args]) => ({ name, args, wall: [], cpuMs: 0 }));

/** The first round fills the compile cache and is not counted. */
function measure(commands: readonly Measured[]): readonly Measured[] {
  for (let round = 0; round <= TIMES; round++) {
    for (const command of commands) {
      const cpu = processorMsOfChildren();
      const begun = performance.now();
      const { status, stderr } = spawnSync(process.execPath, command.args, { stdio: ["ignore", "pipe", "pipe"] });
      const ms = performance.now() - begun;
      if (status !== 0) throw new Error(`${command.name} ended with ${status}: ${stderr}`);
      if (round === 0) continue;
      command.wall.push(ms);
      command.cpuMs += (processorMsOfChildren() - cpu) / TIMES;
    }
  }
  return commands;
}

/** Of the children that have ended. */
function processorMsOfChildren(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
  return 10 * (Number(fields[13]) + Number(fields[14]));
}

async function startEngine(home: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [BIN, "serve", "--home", home, "--port", "0", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(createInterface({ input: child.stdout }), "line");
  return child;
}

async function stopEngine(child: ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  await once(child, "exit");
}

function table(stopped: readonly Measured[], running: readonly Measured[]): void {
  const cells = (one: Measured | undefined): readonly string[] =>
    one ? [`${median(one.wall).toFixed(0)} ms`, `${one.cpuMs.toFixed(0)} ms`] : ["", ""];
  console.log();
  printTable(
    ["command", "stopped: wall", "processor", "running: wall", "processor"],
    stopped.map((one, at) => [one.name, ...cells(one), ...cells(running[at])]),
  );
}

function reportOf(stopped: readonly Measured[], running: readonly Measured[]) {
  const goalsWhile = (state: string, [node, version, help, status, list]: readonly Measured[]): readonly Goal[] => {
    const bare = median(node?.wall ?? []);
    const over = (one: Measured | undefined): Goal => ({
      what: `${one?.name}, ${state}: over a bare Node`,
      goal: OVER_NODE_MS,
      better: "less",
      measured: median(one?.wall ?? []) - bare,
      unit: "ms",
    });
    const first: Goal = {
      what: `first page of ${AGENTS.toLocaleString("en")} agents, ${state}`,
      goal: LIST_MS,
      better: "less",
      measured: median(list?.wall ?? []),
      unit: "ms",
    };
    return [over(version), over(help), over(status), first];
  };
  return {
    figures: [{ what: "times each command was started", value: TIMES, unit: "" }],
    goals: [...goalsWhile("engine stopped", stopped), ...goalsWhile("engine running", running)],
  };
}
