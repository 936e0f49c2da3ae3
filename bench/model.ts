/**
 * Measures the CPU time of a turn around the model: through the engine, through the port alone, and with a bare fetch. The
 * goal applies to an answer of 200 pieces, a paragraph as providers stream it; 50 pieces are a sentence or two.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Way } from "./model/caller-child.ts";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";

const ROUNDS = 5;
/** Enough to keep the process busy: an idle process reads a stream in smaller chunks, which costs more. */
const PEOPLE = 100;
const TURNS = 10;
const LENGTHS = [200, 50] as const;
const WAYS: readonly Way[] = ["fetch", "port", "engine", "library-completions", "port-anthropic"];

interface Cost {
  readonly cpuMs: number;
  readonly residentMb: number;
}

const fileOf = (name: string): string => fileURLToPath(new URL(`./model/${name}.ts`, import.meta.url));

export const modelBench: Bench = {
  about: "CPU of a turn through the engine, through the model port alone and through a bare streaming fetch",
  async run(say) {
    const long = await measure(LENGTHS[0], say);
    const short = await measure(LENGTHS[1], say);
    return {
      figures: [...figuresOf(long, LENGTHS[0]), ...figuresOf(short, LENGTHS[1])],
      goals: [
        {
          what: `CPU of a turn through the engine against the port alone, ${LENGTHS[0]} pieces`,
          goal: 1.5,
          better: "less",
          measured: ratio(long, "engine", "port"),
          unit: "×",
        },
      ],
    };
  },
};

type Costs = ReadonlyMap<Way, readonly Cost[]>;

async function measure(pieces: number, say: (text: string) => void): Promise<Costs> {
  const root = mkdtempSync(join(tmpdir(), "rookery-model-"));
  const server = spawn(process.execPath, [fileOf("server-child"), String(pieces)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [first] = (await once(server.stdout, "data")) as [Buffer];
    const port = first.toString().trim();
    const costs = new Map<Way, Cost[]>(WAYS.map((way) => [way, []]));
    for (let round = 1; round <= ROUNDS; round++) {
      for (const way of WAYS) {
        const home = join(root, `${way}-${round}`);
        mkdirSync(home);
        const args = [fileOf("caller-child"), way, port, home, String(PEOPLE), String(TURNS)];
        const { stdout } = await promisify(execFile)(process.execPath, args);
        costs.get(way)?.push(JSON.parse(stdout) as Cost);
      }
      const line = WAYS.map((way) => `${way} ${costs.get(way)?.at(-1)?.cpuMs.toFixed(2)}`).join(", ");
      say(`${pieces} pieces, round ${round}, ms of CPU per turn: ${line}`);
    }
    return costs;
  } finally {
    server.kill();
    rmSync(root, { recursive: true, force: true });
  }
}

/** Compared round by round, because other load of the machine affects both in the same way. */
const ratio = (costs: Costs, one: Way, other: Way): number =>
  median((costs.get(one) ?? []).map(({ cpuMs }, round) => cpuMs / (costs.get(other)?.[round]?.cpuMs ?? Number.NaN)));

function figuresOf(costs: Costs, pieces: number) {
  const of = (way: Way, what: (cost: Cost) => number): number => median((costs.get(way) ?? []).map(what));
  const about = (text: string): string => `${text}, ${pieces} pieces`;
  return [
    ...WAYS.map((way) => ({ what: about(`CPU per turn, ${way}`), value: of(way, ({ cpuMs }) => cpuMs), unit: "ms" })),
    ...WAYS.map((way) => ({
      what: about(`resident, ${way}`),
      value: of(way, ({ residentMb }) => residentMb),
      unit: "MB",
    })),
    { what: about("engine against port"), value: ratio(costs, "engine", "port"), unit: "×" },
    { what: about("port against a bare streaming fetch"), value: ratio(costs, "port", "fetch"), unit: "×" },
    {
      what: about("port against the library, same protocol"),
      value: ratio(costs, "port", "library-completions"),
      unit: "×",
    },
  ];
}
