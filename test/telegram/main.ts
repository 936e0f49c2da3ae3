/** `npm run telegram -- --malformed N` and `npm run telegram -- --chats N`: the larger proofs of the connector to Telegram. */
import { parseArgs } from "node:util";
import { malformedUpdates } from "./malformed.ts";
import { manyChats } from "./many-chats.ts";

const { values } = parseArgs({
  options: { malformed: { type: "string" }, chats: { type: "string" }, seed: { type: "string", default: "1" } },
});
let isGood = values.malformed !== undefined || values.chats !== undefined;
if (!isGood) console.error("Usage: npm run telegram -- [--malformed N] [--chats N] [--seed S]");

if (values.malformed !== undefined) {
  const report = await malformedUpdates(Number(values.malformed), values.seed);
  console.log(report);
  isGood &&= report.answered && report.loggedTwice === 0;
}
if (values.chats !== undefined) {
  const { breaches, ...report } = await manyChats(Number(values.chats));
  console.log({ ...report, breaches: breaches.length, ratio: report.cpuMs.telegram / report.cpuMs.api });
  for (const breach of breaches.slice(0, 10)) console.error(breach);
  isGood &&= breaches.length === 0 && report.answered === Number(values.chats);
}
process.exit(isGood ? 0 : 1);
