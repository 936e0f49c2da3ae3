/** `npm run fuzz -- [--tries N] [--seed S] [--only WORD]`: bad input against everything that takes input; nothing may answer with a 500 or die. */
import { randomFrom } from "./random.ts";
import { withTargets } from "./targets.ts";

const option = (name: string, otherwise: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : (process.argv[at + 1] ?? otherwise);
};
const tries = Number(option("tries", "10000"));
const seed = Number(option("seed", String(Date.now() % 1_000_000)));
const only = option("only", "");
const AT_ONCE = 8;

process.on("uncaughtException", (error) => {
  console.error(`died: ${error.stack}`);
  process.exit(1);
});

console.log(`seed ${seed}, ${tries} tries each`);
const found = await withTargets(async (targets) => {
  const wrong: string[] = [];
  for (const { name, tryOnce, seen } of targets) {
    if (!name.includes(only)) continue;
    const begun = performance.now();
    const before = wrong.length;
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < tries) {
        const n = next++;
        const problem = await tryOnce(randomFrom(seed * 1_000_003 + n + 1)).catch((error: Error) => error.message);
        if (problem) wrong.push(`${name}, try ${n}: ${problem}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    console.log(
      `${name}: ${tries} tries, ${wrong.length - before} wrong, ${seconds} s (${[...seen].map(([what, times]) => `${what} ${times}`).join(", ")})`,
    );
  }
  return wrong;
});
for (const problem of found.slice(0, 20)) console.error(problem);
console.log(found.length === 0 ? "Nothing died, nothing answered with a 500." : `${found.length} problems.`);
process.exit(found.length === 0 ? 0 : 1);
