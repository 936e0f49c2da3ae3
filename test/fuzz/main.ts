/**
 * `npm run fuzz`: sends malformed input to every target; none may answer with a 500 or
 * crash. Then feeds every text function the worst texts of a megabyte; none may take more than linear time (`--only texts`).
 */
import { readCommandLine } from "../kit/command-line.ts";
import { fuzzTexts, textCases } from "./fuzz-texts.ts";
import { fuzz } from "./target.ts";
import { withTargets } from "./targets.ts";

const { values } = readCommandLine({
  name: "fuzz",
  about:
    "Sends malformed input to everything that takes input from outside, and the worst texts to every text function.",
  options: {
    tries: { kind: "count", least: 1, default: 10_000, about: "How many inputs for each." },
    seed: { kind: "count", least: 0, about: "The same inputs again; another number each time if left out." },
    only: {
      kind: "text",
      shown: "WORD",
      default: "",
      about: "Only those with this word in their name; texts for the functions.",
    },
  },
});
const { tries, only, seed = Date.now() % 1_000_000 } = values;

process.on("uncaughtException", (error) => {
  console.error(`crashed: ${error.stack}`);
  process.exit(1);
});

console.log(`seed ${seed}, ${tries} tries each`);
const problems: string[] = await withTargets(async (targets) => {
  const found: string[] = [];
  const chosen = targets.filter(({ name }) => name.includes(only));
  if (chosen.length === 0 && !"texts".includes(only)) {
    console.error(
      `Nothing here has "${only}" in its name. There are texts, ${targets.map(({ name }) => name).join(", ")}.`,
    );
    process.exit(2);
  }
  for (const target of chosen) {
    const startedAt = performance.now();
    const ofTarget = await fuzz(target, tries, seed);
    found.push(...ofTarget);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const seen = [...target.seen].map(([what, times]) => `${what} ${times}`).join(", ");
    console.log(`${target.name}: ${tries} tries, ${ofTarget.length} problems, ${seconds} s (${seen})`);
  }
  return found;
});
if ("texts".includes(only)) problems.push(...(await textProblems()));
for (const problem of problems.slice(0, 20)) console.error(problem);
console.log(
  problems.length === 0 ? "No crash, no 500, and every text function is linear." : `${problems.length} problems.`,
);
process.exit(problems.length === 0 ? 0 : 1);

/** Prints the cost of each function, the most expensive first. */
async function textProblems(): Promise<readonly string[]> {
  const startedAt = process.cpuUsage().user;
  const costs = (await textCases()).map((one) =>
    fuzzTexts(one, { shortLength: 20_000, length: 1_000_000, longTexts: 8 }),
  );
  for (const { name, text, length, ms } of costs.toSorted((a, b) => b.ms - a.ms)) {
    console.log(`${ms.toFixed(1).padStart(8)} ms  ${name}  ${length} of ${text.slice(0, 60)}`);
  }
  const found = costs.flatMap(({ name, text, problem }) => (problem ? [`${name}: ${problem} (${text})`] : []));
  const seconds = ((process.cpuUsage().user - startedAt) / 1e6).toFixed(0);
  console.log(`texts: ${costs.length} functions, ${found.length} problems, ${seconds} s of processor time`);
  return found;
}
