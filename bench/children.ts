/** A thousand children of one agent end at the same moment: measures what their reports cost, and whether all of them arrive. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Ended } from "./children/children-child.ts";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";

const ROUNDS = 5;
const CHILDREN = 1_000;

export const childrenBench: Bench = {
  about: "a thousand children of one agent that end at once, with and without their reports",
  async run(say) {
    const root = mkdtempSync(join(tmpdir(), "rookery-bench-"));
    const rounds: Record<"reports" | "bare", Ended[]> = { reports: [], bare: [] };
    const quick: Record<"reports" | "bare", Ended[]> = { reports: [], bare: [] };
    try {
      for (let round = 1; round <= ROUNDS; round++) {
        for (const [form, into] of [
          ["tool", rounds],
          ["at-once", quick],
        ] as const) {
          for (const how of ["bare", "reports"] as const)
            into[how].push(endIn(join(root, `${form}-${how}-${round}`), how, form));
          const [bare, reported] = [into.bare.at(-1), into.reports.at(-1)];
          const words = `${Math.round(bare?.ms ?? 0)} ms without reports, ${Math.round(reported?.ms ?? 0)} ms with`;
          say(`round ${round}, ${form === "tool" ? "a tool each" : "ending at once"}: ${words}`);
        }
      }
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
    const of = (how: "reports" | "bare", what: (ended: Ended) => number): number => median(rounds[how].map(what));
    return {
      figures: [
        { what: "all have ended, without reports", value: of("bare", ({ ms }) => ms), unit: "ms" },
        { what: "all have ended and every report has arrived", value: of("reports", ({ ms }) => ms), unit: "ms" },
        { what: "every report is answered", value: of("reports", ({ restMs }) => restMs), unit: "ms" },
        { what: "first to last end", value: of("reports", ({ endMs }) => endMs), unit: "ms" },
        { what: "prompts that carried reports", value: of("reports", ({ prompts }) => prompts), unit: "" },
        { what: "resident without reports", value: of("bare", ({ residentMb }) => residentMb), unit: "MB" },
      ],
      goals: [
        {
          what: "time with reports against without",
          goal: 3,
          better: "less",
          measured: of("reports", ({ ms }) => ms) / of("bare", ({ ms }) => ms),
          unit: "×",
        },
        {
          what: "… if each child ends at once",
          goal: 3,
          better: "less",
          measured: median(quick.reports.map(({ ms }) => ms)) / median(quick.bare.map(({ ms }) => ms)),
          unit: "×",
        },
        {
          what: "reports that arrived, in the worst round",
          goal: CHILDREN,
          better: "more",
          measured: Math.min(...[...rounds.reports, ...quick.reports].map(({ heard }) => heard)),
          unit: "",
        },
        {
          what: "resident with reports",
          goal: 300,
          better: "less",
          measured: of("reports", ({ residentMb }) => residentMb),
          unit: "MB",
        },
      ],
    };
  },
};

function endIn(home: string, how: string, form: string): Ended {
  mkdirSync(home);
  const child = fileURLToPath(new URL("./children/children-child.ts", import.meta.url));
  const out = execFileSync(process.execPath, [child, home, how, String(CHILDREN), form], { encoding: "utf8" });
  return JSON.parse(out) as Ended;
}
