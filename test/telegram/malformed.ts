/** Updates of every wrong form: none stops the engine or the messages behind it, and each is logged once. */
import { createRookery } from "../../src/app/library/create-rookery.ts";
import { type LogLine, recordingLog } from "../../src/app/testing/log.ts";
import { echo } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import { type Random, randomOf } from "../kit/random.ts";
import { FakeTelegram, type Json, person, privateChat } from "./fake-telegram.ts";

export interface Malformed {
  readonly updates: number;
  /** Log lines about updates that are malformed or cannot be handled. */
  readonly logged: number;
  /** Updates with more than one such line. */
  readonly loggedTwice: number;
  /** Whether the message behind them was answered. */
  readonly answered: boolean;
}

export async function malformedUpdates(updates: number, seed: string): Promise<Malformed> {
  const fake = await new FakeTelegram().start();
  const lines: LogLine[] = [];
  const telegram = { token: "123456:fake-token", apiRoot: fake.url, reactions: false, drafts: false };
  const rookery = await createRookery({
    home: "memory",
    model: scripted(...Array.from({ length: 200 }, () => echo)),
    log: recordingLog(lines),
    config: { connectors: { telegram }, owner: { accounts: ["telegram:7"] } },
  });
  try {
    const random = randomOf(seed);
    for (let n = 0; n < updates; n++) fake.pushRaw({ update_id: fake.takeId(), ...broken(random) });
    fake.say(7, "still there?");
    await fake.until(() => fake.textsTo(7).includes("answer to still there?"), 120_000).catch(() => undefined);
    await fake.until(() => fake.pending === 0, 60_000).catch(() => undefined);
    const about = lines
      .map((line) => (line as { fields?: { update?: unknown } }).fields?.update)
      .filter((id) => id !== undefined);
    return {
      updates,
      logged: about.length,
      loggedTwice: about.length - new Set(about).size,
      answered: fake.textsTo(7).includes("answer to still there?") && fake.pending === 0,
    };
  } finally {
    await rookery.close();
    await fake.close();
  }
}

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 60,
  "",
  "x",
  "\u0000",
  "\ud800",
  [],
  {},
  [[]],
  { id: {} },
  Number.NaN,
];

/** A good update in which parts are replaced, removed or repeated. */
function broken(random: Random): Json {
  const user = 5_000_000 + random.int(0, 1_000);
  const message = {
    ...{ message_id: random.int(1, 1e6), date: 1_800_000_000, from: person(user), chat: privateChat(user), text: "hi" },
    entities: [{ type: "mention", offset: 0, length: 2 }],
    reply_to_message: { message_id: 1, date: 1, chat: privateChat(user), text: "x" },
    photo: [{ file_id: "f", file_unique_id: "u", width: 1, height: 1 }],
  };
  const kinds: Json = {
    message,
    edited_message: { ...message, edit_date: 1_800_000_001 },
    callback_query: { id: "1", from: person(user), message, chat_instance: "1", data: "a:kfmz:y" },
    message_reaction: {
      chat: privateChat(user),
      message_id: 1,
      user: person(user),
      date: 1,
      old_reaction: [],
      new_reaction: [{ type: "emoji", emoji: "👍" }],
    },
    stopped_message_generation: { chat: privateChat(user), draft_id: 1 },
  };
  const names = Object.keys(kinds);
  const name = names[random.int(0, names.length - 1)] ?? "message";
  const update = structuredClone({ [name]: kinds[name] }) as Json;
  for (let times = random.int(1, 3); times > 0; times--) breakOne(update, random);
  return update;
}

function breakOne(value: unknown, random: Random): void {
  let at = value as Json;
  for (let depth = random.int(1, 4); depth > 0; depth--) {
    const keys = Object.keys(at ?? {});
    const key = keys[random.int(0, Math.max(0, keys.length - 1))];
    if (key === undefined) return;
    const child = at[key];
    if (depth > 1 && typeof child === "object" && child !== null) {
      at = child as Json;
      continue;
    }
    if (random.int(0, 2) === 0) delete at[key];
    else at[key] = VALUES[random.int(0, VALUES.length - 1)];
    return;
  }
}
