/**
 * `npm run crash -- --kills N [--seed S] [--target engine|store|commands|backup] [--channel telegram|whatsapp|whatsapp-web|webhook]`: kills a working process repeatedly and audits its
 * data. With the target `engine` no run may fail by these kills; then a run kills the process itself, and is found. `npm run crash -- --nodes N --minutes M [--seed S]`: the same with several nodes on one PostgreSQL.
 */
import { parseArgs } from "node:util";
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

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    target: { type: "string", default: "engine" },
    /** The same as a target: the channel whose connector is killed. */
    channel: { type: "string" },
    nodes: { type: "string" },
    minutes: { type: "string", default: "5" },
  },
});
if (values.nodes !== undefined) process.exit(await nodes(Number(values.nodes), Number(values.minutes)));

const target = TARGETS.find((one) => one.name === (values.channel ?? values.target));
const kills = Number(values.kills);
if (!target || !Number.isInteger(kills) || kills < 1) {
  console.error("Usage: npm run crash -- --kills N [--seed S] [--target NAME]");
  console.error(`Targets: ${TARGETS.map((one) => one.name).join(", ")}`);
  process.exit(2);
}

const report = await target.run({ kills, seed: values.seed, say: (text) => console.log(text) });
console.log();
for (const [what, count] of Object.entries(report.counts)) console.log(`${what}: ${count.toLocaleString("en")}`);
if (report.problems.length > 0) {
  console.error(`\n${report.problems.length} problems:`);
  for (const problem of report.problems.slice(0, 20)) console.error(`- ${problem}`);
  console.error(`\nAgain: npm run crash -- --target ${target.name} --kills ${kills} --seed ${values.seed}`);
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
