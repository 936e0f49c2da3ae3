/**
 * `npm run tool -- malformed`: events of every wrong form, signed as the platform signs them. None stops the engine or the messages
 * behind it, none is brought for ever, and each is logged at most once.
 */
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { type LogLine, recordingLog } from "../../src/app/testing/log.ts";
import { echo } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import { readCommandLine } from "../kit/command-line.ts";
import { randomOf } from "../kit/random.ts";
import { FakeProgram } from "../webhook/fake-program.ts";
import { FakeWhatsapp } from "../whatsapp/fake-whatsapp.ts";
import { broken, type Json } from "./break-json.ts";
import { malformedWeb } from "./whatsapp-web.ts";

const { values } = readCommandLine({
  name: "malformed",
  about: "Brings events of every wrong form to a channel; none may stop the engine or the messages behind it.",
  options: {
    channel: {
      ...{ kind: "text", shown: "NAME", oneOf: ["whatsapp", "whatsapp-web", "webhook"], default: "whatsapp" },
      about: "Which channel.",
    },
    events: { kind: "count", least: 1, default: 10_000, about: "How many events." },
    seed: { kind: "text", shown: "TEXT", default: "1", about: "The same events again." },
  },
});
const { events } = values;
const random = randomOf(values.seed);
const lines: LogLine[] = [];
const OWNER = "4915001";

interface Subject {
  readonly connectors: object;
  /** Every kind of event, each good. */
  readonly good: readonly Json[];
  push(event: unknown): void;
  say(text: string): void;
  pending(): number;
  isAnswered(): boolean;
  close(): Promise<void>;
}

let rookery: Rookery | undefined;
const post =
  (account: string) =>
  async (request: { body: string; headers: Record<string, string> }): Promise<number> => {
    const answer = await rookery?.fetch(
      new Request(`http://127.0.0.1/channels/${account}`, { method: "POST", ...request }),
    );
    return answer?.status ?? 0;
  };

async function whatsapp(): Promise<Subject> {
  const fake = await new FakeWhatsapp({ bring: post("whatsapp") }).start();
  const { token, appSecret, number: phoneNumberId, url: apiRoot, verifyToken: secret } = fake;
  const from = "4917777";
  const common = { from, id: "wamid.x", timestamp: "1800000000", context: { id: "wamid.q", from: "15550001111" } };
  const messages: readonly Json[] = [
    { ...common, type: "text", text: { body: "hi" } },
    { ...common, type: "image", image: { id: "m", mime_type: "image/jpeg", caption: "c" } },
    { ...common, type: "edit", edit: { original_message_id: "o", message: { type: "text", text: { body: "b" } } } },
    { ...common, type: "reaction", reaction: { message_id: "o", emoji: "👍" } },
    { ...common, type: "revoke", revoke: { original_message_id: "o" } },
    {
      ...common,
      type: "interactive",
      interactive: { type: "button_reply", button_reply: { id: "a:x:y", title: "t" } },
    },
    { ...common, type: "contacts", contacts: [{ name: { formatted_name: "E" }, phones: [{ phone: "1" }] }] },
    { ...common, type: "location", location: { latitude: 1, longitude: 2, name: "n" } },
  ];
  const metadata = { phone_number_id: phoneNumberId, display_phone_number: "15550001111" };
  const contacts = [{ profile: { name: "P" }, wa_id: from }];
  const status = {
    id: "wamid.s",
    status: "failed",
    biz_opaque_callback_data: "r.0",
    errors: [{ code: 1, title: "t" }],
  };
  const valuesOf: readonly Json[] = [...messages.map((one) => ({ messages: [one], contacts })), { statuses: [status] }];
  return {
    connectors: { whatsapp: { token, appSecret, phoneNumberId, apiRoot, webhook: { secret } } },
    good: valuesOf.map((value) => ({
      object: "whatsapp_business_account",
      entry: [{ id: "1", changes: [{ field: "messages", value: { metadata, ...value } }] }],
    })),
    push: (event) => fake.pushBody(event),
    say: (text) => void fake.say(OWNER, text),
    pending: () => fake.pending,
    isAnswered: () => fake.textsTo(OWNER).includes("answer to still there?"),
    close: () => fake.close(),
  };
}

async function webhook(): Promise<Subject> {
  const fake = await new FakeProgram({ bring: post("webhook") }).start();
  const good = {
    ...{ id: "x", from: "eve", text: "hi", name: "Eve", chat: "room", group: true, title: "Room", thread: "t" },
    ...{ addressed: true, revision: 1, replyTo: "q", sentAt: 1_800_000_000_000, files: [{ name: "f", data: "aGk=" }] },
  };
  return {
    connectors: { webhook: { sendUrl: fake.url, webhook: { secret: fake.secret } } },
    good: [good],
    push: (event) => fake.push(event),
    say: (text) => void fake.say(OWNER, text),
    pending: () => fake.pending,
    isAnswered: () => fake.textsTo(OWNER).includes("answer to still there?"),
    close: () => fake.close(),
  };
}

/** The ids in an event as the log names them: a status is named with what it says. */
function idsIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const { id, status } = value as { id?: unknown; status?: unknown };
  const own =
    typeof id === "string" ? [`${id.slice(0, 250)}${typeof status === "string" ? `/${status.slice(0, 20)}` : ""}`] : [];
  return [...own, ...Object.values(value).flatMap(idsIn)];
}

if (values.channel === "whatsapp-web") {
  const report = await malformedWeb(events, random);
  console.log(report);
  process.exit(report.answered ? 0 : 1);
}
const SUBJECTS: Readonly<Record<string, () => Promise<Subject>>> = { whatsapp, webhook };
const open = SUBJECTS[values.channel];
if (!open || !Number.isInteger(events)) {
  console.error("Usage: npm run tool -- malformed --channel whatsapp|whatsapp-web|webhook [--events N] [--seed S]");
  process.exit(2);
}
const subject = await open();
rookery = await createRookery({
  ...{ home: "memory", log: recordingLog(lines), model: scripted(...Array.from({ length: 500 }, () => echo)) },
  config: { connectors: subject.connectors, owner: { accounts: [`${values.channel}:${OWNER}`] } },
});
/** How often each id was pushed: the breaking makes several of some. */
const pushed = new Map<string, number>();
for (let n = 0; n < events; n++) {
  const good = subject.good[random.int(0, subject.good.length - 1)] ?? {};
  // Every event has ids of its own, so that none is only a repetition.
  const event = broken(
    JSON.parse(JSON.stringify(good).replaceAll('"wamid.x"', `"wamid.${n}"`).replaceAll('"x"', `"x${n}"`)),
    random,
  );
  for (const id of idsIn(event)) pushed.set(id, (pushed.get(id) ?? 0) + 1);
  subject.push(event);
}
subject.say("still there?");
const end = performance.now() + 300_000;
while (!(subject.isAnswered() && subject.pending() === 0) && performance.now() < end) {
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const about = lines
  .map((line) => (line as { fields?: { update?: unknown } }).fields?.update)
  .filter((id) => id !== undefined);
const logged = Map.groupBy(about, String);
const loggedTwice = [...logged]
  .filter(([id]) => !id.startsWith("?"))
  .reduce((sum, [id, times]) => sum + Math.max(0, times.length - (pushed.get(id) ?? 1)), 0);
const report = {
  events,
  logged: about.length,
  loggedTwice,
  answered: subject.isAnswered(),
  pending: subject.pending(),
};
console.log(report);
await rookery.close();
await subject.close();
process.exit(report.answered && report.pending === 0 && loggedTwice === 0 ? 0 : 1);
