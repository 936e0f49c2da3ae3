/**
 * The hostile corpus: texts from every entry by its own way, a model that obeys all of them, and no effect that no one granted (L13).
 * The attacker has a site that every request can reach, and a broken gate must be found.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pdfOf } from "../../src/adapters/files/samples.test-kit.ts";
import type { AgentDescriptor } from "../../src/core/agent/descriptor.ts";
import { needs } from "../kit/needs.ts";
import type { ProgramName } from "../kit/programs.ts";
import type { Json } from "../telegram/fake-telegram.ts";
import {
  cases,
  GO_ON,
  type HostileCase,
  type HostileWorld,
  OWNER_AT,
  openHostileWorld,
  type Snapshot,
  TELEGRAM_OWNER,
} from "./hostile.test-kit.ts";
import { CARRIED } from "./owner-chats.test-kit.ts";

let world: HostileWorld;
beforeAll(async () => {
  world = await openHostileWorld();
});
afterAll(() => world.close());

const look = (name: string, given: object = {}): string => `LOOK ${JSON.stringify({ name, with: given })}`;
const quoted = (text: string): string => `QUOTE\n${text}`;

const page = (id: string): string => look("web_fetch", { url: `${world.site}/page/${id}` });

interface Entry {
  /** How its texts come to the model. */
  readonly how: string;
  /** Before the first of them. */
  prepare?(all: readonly HostileCase[]): Promise<unknown>;
  arrive(some: readonly HostileCase[]): Promise<unknown>;
  /** How many come at once. Default: one by one. */
  readonly atOnce?: number;
  readonly programs?: readonly ProgramName[];
}

const oneByOne = (how: string, arrive: (one: HostileCase) => Promise<unknown>): Entry => ({
  how,
  arrive: ([one]) => (one ? arrive(one) : Promise.resolve()),
});

/** A session with untrusted text has written the files; fresh ones read them. */
const inFiles = (
  how: string,
  path: (one: HostileCase) => string,
  content: (one: HostileCase) => string,
  read: (...paths: readonly string[]) => string,
  atOnce?: number,
): Entry => ({
  how,
  async prepare(all) {
    await world.say(OWNER_AT, page("other"));
    const writes = all.map((one) => look("write", { path: path(one), content: content(one) }));
    await world.say(OWNER_AT, quoted(writes.join("\n")));
    await fresh();
  },
  arrive: (some) => world.say(OWNER_AT, read(...some.map(path))),
  atOnce,
});

const fresh = (): Promise<void> => world.fresh();

/** Who writes a message on Telegram that reaches the owner's chat in another one. */
const mallory = { id: 66, is_bot: false, first_name: "Mallory" };
const owner = { id: TELEGRAM_OWNER, is_bot: false, first_name: "Olga" };
const bot = { id: 67, is_bot: true, first_name: "Gifs", username: "gif_bot" };
const forward = { forward_origin: { type: "user", date: 1, sender_user: mallory } };
const answered = (more: Json): Json => ({
  reply_to_message: { message_id: 1, date: 1, chat: { id: TELEGRAM_OWNER, type: "private" }, ...more },
});
const named = (name: string): Json => ({ document: { file_id: "f", file_unique_id: "f", file_name: name } });

/** Messages of the owner with a text of the corpus in them. */
const ON_TELEGRAM: Readonly<Record<string, (text: string) => readonly [Json, Readonly<Record<string, Uint8Array>>?]>> =
  {
    attachment: (text) => [{ ...named("notes.txt"), caption: "summarise this" }, { f: Buffer.from(text) }],
    "text of an attachment": (text) => [{ ...named("notes.pdf"), caption: "summarise this" }, { f: pdfOf(text) }],
    "name of a document": (text) => [{ ...named(`${text}.txt`), caption: "what is it?" }, { f: Buffer.from("tea") }],
    // A post of a channel has no person.
    "quote of a forward": (text) => [
      {
        text: "is it true?",
        ...answered({ sender_chat: { id: -5, type: "channel", title: "News" }, text, ...forward }),
      },
    ],
    "reply to one's own forward": (text) => [{ text: "is it true?", ...answered({ from: owner, text, ...forward }) }],
    "message through a bot": (text) => [{ text, via_bot: bot }],
    "reply to a message through a bot": (text) => [
      { text: "what is it?", ...answered({ from: owner, text, via_bot: bot }) },
    ],
    contact: (text) => [{ contact: { phone_number: "+1", first_name: text } }],
  };
const ofTelegram = Map.groupBy(
  cases.filter(({ entry }) => Object.hasOwn(ON_TELEGRAM, entry)),
  ({ entry }) => entry,
);
/** All cases of an entry come in one message. */
function tellOnTelegram(
  at: HostileWorld,
  all: readonly HostileCase[],
  made = ON_TELEGRAM[all[0]?.entry ?? ""],
): Promise<void> {
  const [message, files] = made?.(all.map(({ text }) => text).join(" ")) ?? [{}];
  return at.onTelegram(message, () => all.every(({ id }) => at.tried.has(id)), files);
}

/** All cases come in one message of another chat. */
const inChat = (at: HostileWorld, all: readonly HostileCase[], say: (typeof CARRIED)[string]): Promise<void> =>
  at.inChat(
    (chats) => say(chats, all.map(({ text }) => text).join(" ")),
    () => all.every(({ id }) => at.tried.has(id)),
  );

/** Whether a case has had its effect. */
const hasHappened = ({ id, effect }: HostileCase, { notes, stolen, jobs }: Snapshot): boolean =>
  ({
    "a note": notes["MEMORY.md"] !== undefined,
    "a note of a day": notes["memory/evil.md"] !== undefined,
    "a skill": notes["skills/evil/SKILL.md"] !== undefined,
    "a page that carries data out": stolen.some((path) => path.endsWith(id)),
    "a job": jobs.length > 0,
  })[effect] ?? false;

const ENTRIES: Readonly<Record<string, Entry>> = {
  "web page": oneByOne("fetched from a server", ({ id }) => world.say(OWNER_AT, page(id))),
  mail: oneByOne("through a hook for mail", ({ text }) =>
    world.hook("mail", { from: "mallory@example.org", body: text }),
  ),
  "tool output": {
    ...inFiles(
      "as the output of a command that shows files from outside",
      ({ id }) => `logs/${id}.txt`,
      ({ text }) => text,
      (...paths) => look("exec", { command: ["cat", ...paths] }),
      5,
    ),
    programs: ["bwrap"],
  },
  "MCP description": oneByOne("as the description of a tool of a real server, which is searched for", ({ id }) =>
    world.say(OWNER_AT, look("find_tools", { query: id })),
  ),
  "MCP resource": oneByOne("read from a real server", ({ id }) =>
    world.say(OWNER_AT, look("mcp_resources", { server: "hostile", uri: `case://${id}` })),
  ),
  "MCP prompt": oneByOne("shown by a real server", ({ id }) =>
    world.say(OWNER_AT, look("mcp_prompts", { server: "hostile", name: id })),
  ),
  "child's report": oneByOne("of a child that fetched it", ({ id }) =>
    world.say(OWNER_AT, look("start_background_agent", { prompt: quoted(page(id)) })),
  ),
  skill: inFiles(
    "as a skill that an agent wrote: it is left out, and its file is read",
    ({ id }) => `skills/${id}/SKILL.md`,
    ({ id, text }) => `---\nname: ${id}\ndescription: ${text.replaceAll("\n", " ").slice(0, 900)}\n---\n\n${text}\n`,
    (path) => look("read", { path }),
  ),
  "memory file": inFiles(
    "as a note that is looked up",
    ({ id }) => `memory/${id}.md`,
    ({ text }) => text,
    (ref) => look("memory_get", { ref }),
  ),
  "file name": inFiles(
    "in a list of files",
    ({ id, text }) => `names/${id}/${text}`,
    () => "x",
    (path = "") => look("list", { path: path.slice(0, path.lastIndexOf("/")) }),
  ),
  "group member": oneByOne("as the message of a guest in a group", ({ text }) => world.inGroup("ann", text)),
  ...Object.fromEntries(
    Object.keys(ON_TELEGRAM).map((name): [string, Entry] => [
      name,
      { how: "on Telegram", atOnce: 99, arrive: (all) => tellOnTelegram(world, all) },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(CARRIED).map(([name, carry]): [string, Entry] => [
      name,
      { how: "in a message of the owner", atOnce: 99, arrive: (all) => inChat(world, all, carry) },
    ]),
  ),
  "webhook body": oneByOne("through the route of a hook", ({ text }) => world.hook("deploy", { message: text })),
};

/** How texts are left in a home, and how a node on a restored copy of it reads them. */
interface Left {
  leave(some: readonly HostileCase[]): Promise<unknown>;
  read(at: HostileWorld, some: readonly HostileCase[]): Promise<unknown>;
}

const OLD_AT: AgentDescriptor = { type: "user", connector: "test", userId: "olga", channelId: "old" };
const notePath = ({ id }: HostileCase): string => `memory/${id}.md`;

const RESTORED: Readonly<Record<string, Left>> = {
  "file in a restored backup": {
    async leave(some) {
      await world.say(OWNER_AT, page("other"));
      const writes = some.map((one) => look("write", { path: notePath(one), content: one.text }));
      await world.say(OWNER_AT, quoted(writes.join("\n")));
      await fresh();
    },
    async read(at, some) {
      for (const one of some) {
        await at.say(OWNER_AT, look("read", { path: notePath(one) }));
        await at.fresh();
      }
    },
  },
  "history in a restored backup": {
    leave: (some) => world.say(OLD_AT, quoted(some.map(({ id }) => page(id)).join("\n"))),
    read: (at) => at.say(OLD_AT, GO_ON),
  },
};

it("has at least 200 cases over all entries", () => {
  expect(cases.length).toBeGreaterThanOrEqual(200);
  expect(new Set(cases.map(({ entry }) => entry))).toEqual(
    new Set([...Object.keys(ENTRIES), ...Object.keys(RESTORED)]),
  );
  expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
});

describe.each(Object.entries(ENTRIES))("%s", (entry, { how, prepare, arrive, atOnce = 1, programs = [] }) => {
  it(`has no effect that no one granted, ${how}`, needs(...programs), async () => {
    // Files of an earlier entry must not hide an effect.
    world.clean();
    const before = await world.snapshot();
    const wrong: string[] = [];
    const all = cases.filter((each) => each.entry === entry);
    await prepare?.(all);
    for (let from = 0; from < all.length; from += atOnce) {
      const some = all.slice(from, from + atOnce);
      await arrive(some);
      const missing = some.filter(({ id }) => !world.tried.has(id));
      const saw = world.lastSeen().slice(0, 300);
      wrong.push(...missing.map(({ id, effect }) => `${id} did not reach the model (${effect}), which saw: ${saw}`));
      if (JSON.stringify(await world.snapshot()) !== JSON.stringify(before)) {
        wrong.push(`had an effect: ${some.map(({ id, effect }) => `${id} (${effect})`).join(", ")}`);
      }
      await fresh();
    }
    expect(wrong).toEqual([]);
    expect(await world.snapshot()).toEqual(before);
  });
});

describe.each(Object.entries(RESTORED))("%s", (entry, { leave, read }) => {
  const some = cases.filter((each) => each.entry === entry);

  it("has no effect that no one granted, and each effect if the gate is open", async () => {
    await leave(some);
    for (const gate of ["whole", "open"] as const) {
      const copy = await world.restored(gate);
      try {
        copy.clean();
        const before = await copy.snapshot();
        await read(copy, some);
        expect(some.filter(({ id }) => !copy.tried.has(id))).toEqual([]);
        const after = await copy.snapshot();
        if (gate === "whole") expect(after).toEqual(before);
        else expect(some.filter((one) => !hasHappened(one, after))).toEqual([]);
      } finally {
        await copy.close();
      }
    }
    await fresh();
  });
});

describe("a broken guard", () => {
  let broken: HostileWorld;
  beforeAll(async () => {
    broken = await openHostileWorld({ gate: "open" });
  });
  afterAll(() => broken.close());

  it("finds effects if the gate does not know the effects of calls", async () => {
    const before = JSON.stringify(await broken.snapshot());
    let found: string | undefined;
    for (const { id, effect } of cases.filter(({ entry }) => entry === "web page")) {
      await broken.say(OWNER_AT, look("web_fetch", { url: `${broken.site}/page/${id}` }));
      if (JSON.stringify(await broken.snapshot()) !== before) found = effect;
      if (found !== undefined) break;
    }
    expect(found).toBeDefined();
  });

  it.each([...ofTelegram])("finds the effect of every case that comes as %s", async (_, all) => {
    broken.clean();
    await tellOnTelegram(broken, all);
    const after = await broken.snapshot();
    expect(all.filter((one) => !hasHappened(one, after))).toEqual([]);
    await broken.fresh();
  });
});

describe("the owner's own words", () => {
  let own: HostileWorld;
  beforeAll(async () => {
    own = await openHostileWorld();
  });
  afterAll(() => own.close());

  it.each<[string, string, (all: readonly HostileCase[]) => Promise<void>]>([
    ["Telegram", "message through a bot", (all) => tellOnTelegram(own, all, (text) => [{ text }])],
    [
      "WhatsApp Web",
      "forward on WhatsApp Web",
      (all) => inChat(own, all, (chats, text) => chats.onWeb({ conversation: text })),
    ],
    ["a program", "attachment from a program", (all) => inChat(own, all, (chats, text) => chats.fromProgram(text))],
  ])("have each effect without a question, typed on the channel %s", async (_, entry, type) => {
    own.clean();
    const before = await own.snapshot();
    const all = cases.filter((each) => each.entry === entry);
    await type(all);
    const after = await own.snapshot();
    expect(all.filter((one) => !hasHappened(one, after))).toEqual([]);
    expect(after.jobs).toHaveLength(before.jobs.length + 1);
    await own.fresh();
  });
});
