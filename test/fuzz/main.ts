/** `npm run fuzz -- [--tries N] [--seed S] [--only WORD]`: sends malformed input to every target; none may answer with a 500 or crash. */
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
const problems = await withTargets(async (targets) => {
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
for (const problem of problems.slice(0, 20)) console.error(problem);
console.log(problems.length === 0 ? "No crash and no 500." : `${problems.length} problems.`);
process.exit(problems.length === 0 ? 0 : 1);
