/**
 * `npm run bench -- compare OLD NEW`: measures what a turn costs at two commits, in alternating pairs on the same machine,
 * so that its other load cancels out. Fails if the newer commit is slower or a turn has a higher count.
 */
import { parseArgs } from "node:util";
import { type Checkout, withCheckouts } from "./compare/checkout.ts";
import { type Measured, type TurnCounts, WORKLOADS } from "./compare/workloads.ts";
import { printTable } from "./report.ts";
import { type Interval, median, medianInterval } from "./statistics.ts";

const USAGE = `Usage: npm run bench -- compare OLD NEW [--pairs 15] [--turns 200] [--only NAME] [--json]

Compares two commits. Per workload: the processor time of a turn (user and system, all threads of the process) in pairs,
old and new in turns, as the median ratio new/old with its 90 % interval; and the statements, rows, pages, commits and file
calls of a turn.
Exit code 1: an interval lies above 1.05 as a whole, or a count is higher. Fewer than 5 pairs give no 90 % interval.

Workloads:
${Object.entries(WORKLOADS)
  .map(([name, { about }]) => `  ${name.padEnd(7)} ${about}`)
  .join("\n")}`;

/** A ratio whose whole interval is above this is a regression. */
const MAX_RATIO = 1.05;
/** Fewer than five pairs cannot reach this confidence; then the time is not judged. */
const MIN_CONFIDENCE = 0.9;
/** Work of timers adds a few statements to many turns. One more statement in one kind of turn adds at least 0.25. */
const COUNT_SLACK = 0.2;
const COUNTED = ["statements", "rows", "pages", "commits", "fileCalls"] as const;

export interface Comparison {
  readonly workload: string;
  /** Processor time per turn, milliseconds, median. */
  readonly cpuMs: { readonly old: number; readonly new: number };
  readonly ratio: Interval;
  readonly counts: { readonly old: TurnCounts; readonly new: TurnCounts };
}

interface Options {
  readonly pairs: number;
  readonly turns: number;
  readonly workloads: readonly string[];
  readonly say: (text: string) => void;
}

/** Reads the arguments after `compare`, measures, prints, and returns the exit code. */
export async function compareCommand(argv: readonly string[]): Promise<number> {
  const parsed = parse(argv);
  if (typeof parsed === "string") {
    console.error(parsed === "" ? USAGE : `${parsed}\n\n${USAGE}`);
    return parsed === "" ? 0 : 2;
  }
  const { old, new: newer, json, ...options } = parsed;
  const say = (text: string): void => console.error(text);
  const comparisons = await withCheckouts([old, newer], ([first, second]) =>
    compareCheckouts(first as Checkout, second as Checkout, { ...options, say }),
  );
  const found = regressions(comparisons);
  if (json) console.log(JSON.stringify({ old, new: newer, comparisons, regressions: found }, null, 2));
  else printComparisons(comparisons, found);
  return found.length > 0 ? 1 : 0;
}

function parse(argv: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        pairs: { type: "string", default: "15" },
        turns: { type: "string", default: "200" },
        only: { type: "string", multiple: true },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return "";
    const [old, newer, ...more] = positionals;
    if (old === undefined || newer === undefined || more.length > 0) return "Name two commits.";
    const [pairs, turns] = [Number(values.pairs), Number(values.turns)];
    if (!Number.isInteger(pairs) || pairs < 1) return `--pairs ${values.pairs} is not a number of pairs.`;
    if (!Number.isInteger(turns) || turns < 1) return `--turns ${values.turns} is not a number of turns.`;
    const workloads = values.only ?? Object.keys(WORKLOADS);
    const unknown = workloads.find((name) => !WORKLOADS[name]);
    if (unknown !== undefined) return `There is no workload "${unknown}".`;
    return { old, new: newer, pairs, turns, workloads, json: values.json };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function compareCheckouts(old: Checkout, newer: Checkout, options: Options): Promise<readonly Comparison[]> {
  const { say } = options;
  say(`old ${old.commit.slice(0, 10)}, new ${newer.commit.slice(0, 10)}`);
  const comparisons: Comparison[] = [];
  for (const workload of options.workloads) {
    say(`${workload}: counting statements …`);
    // Counting comes first: it also fills the cache of compiled code of a fresh checkout.
    const counts = {
      old: await countsOf(workload, old, options.turns),
      new: await countsOf(workload, newer, options.turns),
    };
    const pairs: { readonly old: number; readonly new: number }[] = [];
    for (let n = 0; n < options.pairs; n++) {
      const cpuOf = async ({ path }: Checkout): Promise<number> =>
        (await measure(workload, path, options.turns, false)).cpuMsPerTurn;
      // The order is swapped every pair, so that neither commit always runs second.
      const first = await cpuOf(n % 2 === 0 ? old : newer);
      const second = await cpuOf(n % 2 === 0 ? newer : old);
      const pair = n % 2 === 0 ? { old: first, new: second } : { old: second, new: first };
      pairs.push(pair);
      say(
        `${workload}: pair ${n + 1} of ${options.pairs}: old ${pair.old.toFixed(3)} ms, new ${pair.new.toFixed(3)} ms per turn, ratio ${(pair.new / pair.old).toFixed(3)}`,
      );
    }
    comparisons.push({
      workload,
      cpuMs: { old: median(pairs.map((pair) => pair.old)), new: median(pairs.map((pair) => pair.new)) },
      ratio: medianInterval(
        pairs.map((pair) => pair.new / pair.old),
        MIN_CONFIDENCE,
      ),
      counts,
    });
  }
  return comparisons;
}

const measure = (workload: string, path: string, turns: number, count: boolean): Promise<Measured> =>
  (WORKLOADS[workload] as (typeof WORKLOADS)[string]).measure(path, { turns, count });

async function countsOf(workload: string, { path }: Checkout, turns: number): Promise<TurnCounts> {
  const { counts } = await measure(workload, path, turns, true);
  if (!counts) throw new Error(`${workload}: no counts`);
  return counts;
}

/** The regressions of the newer commit, as sentences. */
export function regressions(comparisons: readonly Comparison[]): readonly string[] {
  return comparisons.flatMap(({ workload, ratio, counts }) => [
    ...(ratio.low > MAX_RATIO && ratio.confidence >= MIN_CONFIDENCE
      ? [
          `${workload}: a turn takes ${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)} times the processor time (${(ratio.confidence * 100).toFixed(0)} % sure)`,
        ]
      : []),
    ...COUNTED.filter((name) => counts.new[name] > counts.old[name] + COUNT_SLACK).map(
      (name) =>
        `${workload}: ${counts.new[name].toFixed(2)} ${name} per turn instead of ${counts.old[name].toFixed(2)}`,
    ),
  ]);
}

function printComparisons(comparisons: readonly Comparison[], found: readonly string[]): void {
  printTable(
    ["workload", "old ms/turn", "new ms/turn", "median ratio", "interval", "confidence"],
    comparisons.map(({ workload, cpuMs, ratio }) => [
      workload,
      cpuMs.old.toFixed(3),
      cpuMs.new.toFixed(3),
      ratio.median.toFixed(3),
      `${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)}`,
      `${(ratio.confidence * 100).toFixed(1)} %`,
    ]),
  );
  console.log("(processor time, all threads; interval from order statistics of the pairs' ratios)\n");
  printTable(
    ["per turn", ...COUNTED.flatMap((name) => [`${name} old`, "new"])],
    comparisons.map(({ workload, counts }) => [
      workload,
      ...COUNTED.flatMap((name) => [counts.old[name].toFixed(2), counts.new[name].toFixed(2)]),
    ]),
  );
  console.log();
  for (const sentence of found) console.log(`WORSE  ${sentence}`);
  if (comparisons.some(({ ratio }) => ratio.confidence < MIN_CONFIDENCE)) {
    console.log("Too few pairs to judge the processor time: a 90 % interval needs at least 5.");
  }
  if (found.length === 0) console.log("No regression found.");
}
