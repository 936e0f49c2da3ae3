/** `npm run tool -- telegram --malformed N` and `npm run tool -- telegram --chats N`: the larger proofs of the connector to Telegram. */
import { readCommandLine } from "../kit/command-line.ts";
import { malformedUpdates } from "./malformed.ts";
import { manyChats } from "./many-chats.ts";

const { values } = readCommandLine({
  name: "telegram",
  about: "The larger proofs of the connector to Telegram, against a server on this machine. Choose one or both.",
  options: {
    malformed: { kind: "count", least: 1, about: "Brings so many updates of wrong forms; none may stop a message." },
    chats: { kind: "count", least: 1, about: "Answers so many chats at once." },
    seed: { kind: "text", shown: "TEXT", default: "1", about: "The same wrong forms again." },
  },
});
let isGood = values.malformed !== undefined || values.chats !== undefined;
if (!isGood) console.error("Choose what to prove: npm run tool -- telegram --help says what there is.");

if (values.malformed !== undefined) {
  const report = await malformedUpdates(values.malformed, values.seed);
  console.log(report);
  isGood &&= report.answered && report.loggedTwice === 0;
}
if (values.chats !== undefined) {
  const { breaches, ...report } = await manyChats(values.chats);
  console.log({ ...report, breaches: breaches.length, ratio: report.cpuMs.telegram / report.cpuMs.api });
  for (const breach of breaches.slice(0, 10)) console.error(breach);
  isGood &&= breaches.length === 0 && report.answered === values.chats;
}
process.exit(isGood ? 0 : 1);
