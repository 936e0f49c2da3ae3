/** Measures what a durable turn costs through the whole engine, from the accepted message to the sent answer. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DATABASE_FILE } from "../src/adapters/store/sqlite/open-store.ts";
import type { Turns } from "./engine/turns.ts";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";
import { populate, settleDisk } from "./store/population.ts";

const ROUNDS = 9;
const AGENTS = 100;
const MESSAGES = 20;
const MANY_AGENTS = 100_000;

export const engineBench: Bench = {
  about: "turns through the whole engine, with few and many agents in the store, and their memory",
  async run(say) {
    const root = mkdtempSync(join(tmpdir(), "rookery-bench-"));
    const home = (name: string): string => {
      const path = join(root, name);
      mkdirSync(path);
      return path;
    };
    try {
      const [few, many] = [home("few"), home("many")];
      await populate(few, AGENTS);
      await populate(many, MANY_AGENTS);
      const fewTurns: Turns[] = [];
      const manyTurns: Turns[] = [];
      for (let round = 1; round <= ROUNDS; round++) {
        say(
          `round ${round}: ${AGENTS} agents × ${MESSAGES} messages, in stores of ${AGENTS} and ${MANY_AGENTS.toLocaleString("en")} …`,
        );
        // Each round on a fresh copy, so that no round reads the history of an earlier one.
        fewTurns.push(turnsIn(copyOf(few, home(`few-${round}`)), AGENTS, MESSAGES, 1));
        manyTurns.push(turnsIn(copyOf(many, home(`many-${round}`)), AGENTS, MESSAGES, MANY_AGENTS / AGENTS));
        say(`  ${rate(fewTurns)} and ${rate(manyTurns)} turns/s`);
      }
      say("10,000 turns over 1,000 agents …");
      const long = turnsIn(home("long"), 1_000, 10, 1);
      say(`  resident MB after each tenth: ${long.residentMb.join(" ")}`);
      const per = (of: readonly Turns[], what: (turns: Turns) => number): number => median(of.map(what));
      const half = long.residentMb[4] ?? 0;
      const end = long.residentMb.at(-1) ?? 0;
      const fewCpu = per(fewTurns, (turns) => turns.cpuMsPerTurn);
      return {
        figures: [
          { what: "CPU per turn", value: fewCpu, unit: "ms" },
          { what: "commits per turn", value: per(fewTurns, (turns) => turns.commitsPerTurn), unit: "" },
          { what: "answer, p50", value: per(fewTurns, (turns) => turns.answerMs.p50), unit: "ms" },
          { what: "answer, p99", value: per(fewTurns, (turns) => turns.answerMs.p99), unit: "ms" },
          { what: "turns per second over 1,000 agents", value: long.turnsPerSecond, unit: "/s" },
        ],
        goals: [
          {
            what: "turns per second",
            goal: 2_000,
            better: "more",
            measured: per(fewTurns, (t) => t.turnsPerSecond),
            unit: "/s",
          },
          {
            what: `CPU of a turn with ${MANY_AGENTS.toLocaleString("en")} agents against ${AGENTS}`,
            goal: 1.2,
            better: "less",
            measured: per(manyTurns, (turns) => turns.cpuMsPerTurn) / fewCpu,
            unit: "×",
          },
          { what: "resident after 10,000 turns", goal: 200, better: "less", measured: end, unit: "MB" },
          { what: "growth of the second half", goal: 1.1, better: "less", measured: end / half, unit: "×" },
        ],
      };
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
};

const rate = (of: readonly Turns[]): string => Math.round(of.at(-1)?.turnsPerSecond ?? 0).toLocaleString("en");

function copyOf(from: string, to: string): string {
  copyFileSync(join(from, DATABASE_FILE), join(to, DATABASE_FILE));
  settleDisk(join(to, DATABASE_FILE));
  return to;
}

/** `step`: the distance between the agents that get messages, in a store of many. */
function turnsIn(home: string, agents: number, messages: number, step: number): Turns {
  const child = fileURLToPath(new URL("./engine/turns-child.ts", import.meta.url));
  const out = execFileSync(process.execPath, [child, home, String(agents), String(messages), "0", String(step)], {
    encoding: "utf8",
  });
  return JSON.parse(out) as Turns;
}
