/**
 * `npm run crash`: kills a working process repeatedly and audits its data. With the target `engine` no run may fail by these
 * kills; then a run kills the process itself, and is found.
 */
import { readCommandLine } from "../kit/command-line.ts";
import { backupTarget } from "./backup/target.ts";
import { webhookTarget } from "./channels/webhook.ts";
import { whatsappTarget } from "./channels/whatsapp.ts";
import { whatsappWebTarget } from "./channels/whatsapp-web.ts";
import { commandsTarget } from "./commands/target.ts";
import { engineTarget } from "./engine/target.ts";
import { storeTarget } from "./store/target.ts";
import type { CrashTarget } from "./target.ts";
import { telegramTarget } from "./telegram/target.ts";

const TARGETS: readonly CrashTarget[] = [
  engineTarget,
  storeTarget,
  telegramTarget,
  whatsappTarget,
  whatsappWebTarget,
  webhookTarget,
  commandsTarget,
  backupTarget,
];

const NAMES = TARGETS.map(({ name }) => name);
const { values } = readCommandLine({
  name: "crash",
  about: "Kills a working process at random moments, starts it again, and audits what it left.",
  options: {
    kills: { kind: "count", least: 1, default: 50, about: "How often." },
    seed: { kind: "text", shown: "TEXT", default: "1", about: "The same kills and the same work again." },
    target: { kind: "text", shown: "NAME", oneOf: NAMES, default: "engine", about: "What is killed." },
    channel: { kind: "text", shown: "NAME", oneOf: NAMES, about: "The same: the channel whose connector is killed." },
    nodes: { kind: "count", least: 1, about: "Instead: so many nodes on one PostgreSQL, any of which is killed." },
    every: { kind: "count", least: 100, about: "Instead of a mix, with the engine: lives of N milliseconds." },
    people: { kind: "count", least: 1, default: 16, about: "With every: how many write." },
    step: {
      kind: "count",
      least: 1,
      default: 1_500,
      about: "With every: milliseconds that a step of a message takes.",
    },
    minutes: { kind: "count", least: 1, default: 5, about: "With nodes: for how long." },
  },
});
const { kills, every } = values;
const shortLives = every === undefined ? undefined : { lifeMs: every, people: values.people, stepMs: values.step };
if (values.nodes !== undefined) process.exit(await nodes(values.nodes, values.minutes));

const target = TARGETS.find((one) => one.name === (values.channel ?? values.target)) ?? engineTarget;
const report = await target.run({ kills, seed: values.seed, shortLives, say: (text) => console.log(text) });
console.log();
for (const [what, count] of Object.entries(report.counts)) console.log(`${what}: ${count.toLocaleString("en")}`);
const again = shortLives ? ` --every ${every} --people ${values.people} --step ${values.step}` : "";
if (report.problems.length > 0) {
  console.error(`\n${report.problems.length} problems:`);
  for (const problem of report.problems.slice(0, 20)) console.error(`- ${problem}`);
  console.error(`\nAgain: npm run crash -- --target ${target.name} --kills ${kills} --seed ${values.seed}${again}`);
  process.exit(1);
}
console.log(`\nNothing acknowledged is missing after ${kills} kills, and nothing failed because of them.`);

async function nodes(count: number, minutes: number): Promise<number> {
  const { crashNodes } = await import("./nodes/target.ts");
  const report = await crashNodes({ nodes: count, minutes, seed: values.seed, say: (text) => console.log(text) });
  console.log();
  for (const [what, count] of Object.entries(report.counts)) console.log(`${what}: ${count.toLocaleString("en")}`);
  if (report.problems.length === 0) {
    console.log(`\nNothing lost, nothing answered twice, order kept, over ${minutes} minutes on ${count} nodes.`);
    return 0;
  }
  console.error(`\n${report.problems.length} problems:`);
  for (const problem of report.problems.slice(0, 20)) console.error(`- ${problem}`);
  return 1;
}
