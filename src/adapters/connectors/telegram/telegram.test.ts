/** A person chats with the engine over Telegram: the whole engine, and a server that speaks the Bot API. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeTelegram } from "../../../../test/telegram/fake-telegram.ts";
import { createRookery, type Rookery } from "../../../app/library/create-rookery.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { lastText, type ModelCall, type Reply, type Script } from "../../../app/testing/model.ts";
import { scripted } from "../../../app/testing/scripted.ts";

const OWNER = 7;
const clock = virtualClock();
let fake: FakeTelegram;
let rookery: Rookery;
let script: Script = ({ request }) => `answer to ${lastText(request)}`;
const prompts: string[] = [];

const settingsOf = (more: object = {}) => ({ token: "123456:fake-token", apiRoot: fake.url, ...more });

beforeAll(async () => {
  fake = await new FakeTelegram({ clock }).start();
  const model = scripted(
    ...Array.from({ length: 500 }, () => (call: ModelCall): Reply | Promise<Reply> => {
      prompts.push(lastText(call.request));
      return script(call);
    }),
  );
  rookery = await createRookery({
    home: "memory",
    clock,
    model,
    config: {
      connectors: { telegram: settingsOf() },
      owner: { accounts: [`telegram:${OWNER}`] },
      people: { unknown: "guest" },
    },
  });
});

afterAll(async () => {
  await fake.during(rookery.close());
  await fake.close();
});

describe("a private chat", () => {
  it("answers a text, and confirms the update after it is stored", async () => {
    fake.say(OWNER, "hello");
    await fake.until(() => fake.textsTo(OWNER).length === 1);
    expect(fake.textsTo(OWNER)).toEqual(["answer to hello"]);
    await fake.until(() => fake.pending === 0);
  });

  it("marks what it has accepted with a reaction", async () => {
    const id = fake.say(11, "seen?");
    await fake.until(() => fake.reactions.some(({ message_id }) => message_id === id));
    await fake.until(() => fake.textsTo(11).length === 1);
  });

  it("sends a long answer in parts, in order and each once, also with a 429 in the middle", async () => {
    script = () => Array.from({ length: 1_500 }, (_, n) => `word${n}`).join(" ");
    fake.say(12, "long");
    await fake.until(() => fake.textsTo(12).length === 1);
    fake.fail("sendMessage", {
      answer: { code: 429, description: "Too Many Requests", parameters: { retry_after: 1 } },
    });
    await fake.until(() => fake.textsTo(12).join(" ").endsWith("word1499"));
    expect(fake.textsTo(12).join(" ")).toBe(script({} as ModelCall));
    script = ({ request }) => `answer to ${lastText(request)}`;
  });

  it("shows Markdown as HTML, and as plain text if the server cannot read it", async () => {
    script = () => "**bold** and `a < b`";
    fake.say(13, "x");
    await fake.until(() => fake.textsTo(13).length === 1);
    const [sent] = fake.sent.filter(({ chat }) => chat === "13");
    expect(sent?.args).toMatchObject({ parse_mode: "HTML", text: "<b>bold</b> and <code>a &lt; b</code>" });
    fake.fail("sendMessage", { answer: { code: 400, description: "Bad Request: can't parse entities: x" } });
    fake.say(14, "x");
    await fake.until(() => fake.textsTo(14).length === 1);
    expect(fake.textsTo(14)).toEqual(["**bold** and `a < b`"]);
    script = ({ request }) => `answer to ${lastText(request)}`;
  });

  it("sends a table as a rich message, and as HTML if that is refused", async () => {
    script = () => "| a | b |\n| --- | --- |\n| 1 | 2 |";
    fake.say(15, "x");
    await fake.until(() => fake.textsTo(15).length === 1);
    expect(fake.sent.find(({ chat }) => chat === "15")?.method).toBe("sendRichMessage");
    fake.fail("sendRichMessage", { answer: { code: 400, description: "Bad Request: RICH_MESSAGE_INVALID" } });
    fake.say(16, "x");
    await fake.until(() => fake.textsTo(16).length === 1);
    expect(fake.sent.find(({ chat }) => chat === "16")).toMatchObject({
      method: "sendMessage",
      text: script({} as ModelCall),
    });
    script = ({ request }) => `answer to ${lastText(request)}`;
  });

  it("lists a send as unconfirmed if the connection breaks after the server accepted it, and never sends it again", async () => {
    fake.fail("sendMessage", { cut: "after" });
    fake.say(17, "cut");
    await fake.until(() => fake.textsTo(17).length === 1);
    await fake.during(rookery.settled());
    const { items: deliveries } = await rookery.outbox.list({ state: "unconfirmed" });
    expect(deliveries.map(({ target }) => target.to)).toContain("17");
    expect(fake.textsTo(17)).toHaveLength(1);
  });

  it("answers commands, also with the name of the bot, and registers them", async () => {
    fake.say(18, "/help@rook_bot");
    await fake.until(() => fake.textsTo(18).length === 1);
    expect(fake.textsTo(18)[0]).toContain("/stop");
    expect(fake.commands).toContainEqual({ command: "stop", description: expect.any(String) });
  });

  it("stores a message once, however often the server brings it", async () => {
    const before = prompts.length;
    const id = fake.say(19, "once");
    await fake.until(() => fake.textsTo(19).length === 1);
    const message = {
      message_id: id,
      date: fake.now(),
      from: { id: 19, is_bot: false, first_name: "P" },
      chat: { id: 19, type: "private" },
      text: "once",
    };
    fake.push({ message });
    await fake.until(() => fake.pending === 0);
    await fake.during(rookery.settled());
    expect(prompts.length - before).toBe(1);
  });

  it("joins what a person sends at once into one prompt, and answers it once", async () => {
    for (const text of ["first line", "second line", "third line"]) fake.say(21, text);
    await fake.until(() => fake.textsTo(21).length === 1);
    await fake.during(rookery.settled());
    expect(prompts.at(-1)).toBe("first line\nsecond line\nthird line");
    expect(fake.textsTo(21)).toHaveLength(1);
  });

  it("names what it cannot show", async () => {
    fake.say(20, undefined as never, { location: { latitude: 1.5, longitude: 2.5 } });
    await fake.until(() => fake.textsTo(20).length === 1);
    expect(fake.textsTo(20)[0]).toBe("answer to [location: 1.5, 2.5]");
  });
});

describe("a draft", () => {
  it("shows the text as it comes, and Stop ends the run without an answer", async () => {
    const release = Promise.withResolvers<Reply>();
    const { stall } = await import("../../../app/testing/model.ts");
    script = (call) => stall(call, release.promise, "thinking aloud");
    fake.say(30, "slow");
    await fake.until(() => fake.drafts.some(({ chat_id, text }) => chat_id === 30 && text === "thinking aloud"));
    const draft = fake.drafts.find(({ chat_id }) => chat_id === 30) as { draft_id: number; can_stop: boolean };
    expect(draft.can_stop).toBe(true);
    fake.pressStop(30, draft.draft_id);
    await fake.until(() => fake.pending === 0);
    await fake.during(rookery.settled());
    release.resolve("late");
    expect(fake.textsTo(30)).toEqual([]);
    script = ({ request }) => `answer to ${lastText(request)}`;
    // A Stop after the end has no effect.
    fake.pressStop(30, draft.draft_id);
    fake.say(30, "and now");
    await fake.until(() => fake.textsTo(30).length === 1);
    expect(fake.textsTo(30)[0]).toContain("and now");
  });
});

describe("a group", () => {
  it("answers what is said to the bot, with who speaks and what was said before", async () => {
    fake.sayIn(-100, 41, "lunch at noon?");
    fake.sayIn(-100, 42, "@rook_bot when is lunch?");
    await fake.until(() => fake.textsTo(-100).length === 1);
    const prompt = prompts.at(-1) ?? "";
    expect(prompt).toContain('<speaker id="telegram:42" role="guest"');
    expect(prompt).toContain("Person 41: lunch at noon?");
    expect(fake.sent.find(({ chat }) => chat === "-100")?.args.reply_parameters).toBeDefined();
  });
});
