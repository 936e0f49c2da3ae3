/**
 * `npm run fuzz -- [--tries N] [--seed S] [--only WORD]`: sends malformed input to every target; none may answer with a 500 or
 * crash. Then feeds every text function the worst texts of a megabyte; none may take more than linear time (`--only texts`).
 */
import { fuzzTexts, textCases } from "./fuzz-texts.ts";
import { fuzz } from "./target.ts";
import { withTargets } from "./targets.ts";

const option = (name: string, byDefault: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? byDefault : (process.argv[at + 1] ?? byDefault);
};
const tries = Number(option("tries", "10000"));
const seed = Number(option("seed", String(Date.now() % 1_000_000)));
const only = option("only", "");

process.on("uncaughtException", (error) => {
  console.error(`crashed: ${error.stack}`);
  process.exit(1);
});

console.log(`seed ${seed}, ${tries} tries each`);
const problems: string[] = await withTargets(async (targets) => {
  const found: string[] = [];
  for (const target of targets) {
    if (!target.name.includes(only)) continue;
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
