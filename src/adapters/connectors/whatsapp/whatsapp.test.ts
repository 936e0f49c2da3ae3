/** People chat with the engine over the WhatsApp Cloud API: the whole engine with its gateway, and a server that speaks the Graph API. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ANN, BOB, call, OWNER, SECOND, WhatsappWorld } from "./whatsapp.test-kit.ts";

let world: WhatsappWorld;
let fake: WhatsappWorld["fake"];
let prompts: WhatsappWorld["prompts"];

beforeAll(async () => {
  world = await WhatsappWorld.open();
  ({ fake, prompts } = world);
});
afterAll(() => world.close());

const settle = (): Promise<void> => world.settle();
const outbox = (state: Parameters<WhatsappWorld["outbox"]>[0]) => world.outbox(state);

describe("the address of an account", () => {
  const query = (token: string) => `?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=1158201444`;

  it("is confirmed to the platform with its challenge, and to no one else", async () => {
    const good = await world.ask(`/channels/whatsapp${query(fake.verifyToken)}`);
    expect([good.status, await good.text()]).toEqual([200, "1158201444"]);
    expect((await world.ask(`/channels/whatsapp${query("guessed")}`)).status).toBe(401);
  });

  it("takes only what is signed with the app's secret over the bytes as they came", async () => {
    const body = JSON.stringify({ object: "whatsapp_business_account", entry: [] });
    expect(await world.bring({ body, headers: fake.signed(body) })).toBe(200);
    expect(await world.bring({ body: `${body} `, headers: fake.signed(body) })).toBe(401);
    expect(await world.bring({ body, headers: {} })).toBe(401);
    expect(await world.bring({ body, headers: fake.signed(body) }, "other")).toBe(401);
  });
});

describe("a chat", () => {
  it("answers once what is brought twice, marks it as read, and shows typing", async () => {
    fake.repeats = 1;
    const id = fake.say(OWNER, "hello");
    await fake.until(() => fake.textsTo(OWNER).length === 1);
    await settle();
    expect(fake.textsTo(OWNER)).toEqual(["answer to hello"]);
    expect(fake.brought.slice(0, 2)).toEqual([200, 200]);
    expect(fake.marks).toContainEqual({ messaging_product: "whatsapp", status: "read", message_id: id });
    expect(fake.marks).toContainEqual(expect.objectContaining({ message_id: id, typing_indicator: { type: "text" } }));
  });

  it("brings a change of a message, a reaction and a deletion", async () => {
    const id = fake.say(OWNER, "tomorow");
    await settle();
    fake.edit(OWNER, id, "tomorrow");
    await settle();
    expect(prompts.at(-1)).toContain(`[This replaces message ${id}, which was edited]\ntomorrow`);
    const about = { from: OWNER, timestamp: String(fake.now()) };
    const reaction = { message_id: id, emoji: "👍" };
    fake.pushMessage({ ...about, id: fake.takeId(), type: "reaction", reaction });
    fake.pushMessage({ ...about, id: fake.takeId(), type: "revoke", revoke: { original_message_id: id } });
    fake.say(OWNER, "well?");
    await settle();
    expect(JSON.stringify(world.lastRequest)).toContain(`reacted with 👍 to message ${id}.`);
    expect(JSON.stringify(world.lastRequest)).toContain(`deleted message ${id}.`);
  });

  it("tells a stranger one line with a code, and costs no model call", async () => {
    const before = prompts.length;
    fake.say("4999", "let me in");
    await settle();
    await fake.until(() => fake.textsTo("4999").length === 1);
    expect(fake.textsTo("4999")[0]).toContain("code");
    expect(prompts).toHaveLength(before);
  });

  it.each([
    ["location", { latitude: 1.5, longitude: 2, name: "Home" }, "[location: 1.5, 2, Home]"],
    ["contacts", [{ name: { formatted_name: "Eve" }, phones: [{ phone: "+1" }] }], "[contact: Eve, +1]"],
    ["sticker", { id: "none", mime_type: "image/webp" }, "[sticker]"],
    ["unsupported", {}, "[a message that cannot be shown here: unsupported]"],
    ["order", { product_items: [{}, {}], text: "soon" }, "[order: 2 products. soon]"],
  ])("names a message of the type %s", async (type, part, expected) => {
    fake.pushMessage({ from: OWNER, id: fake.takeId(), timestamp: String(fake.now()), type, [type]: part });
    await settle();
    expect(prompts.at(-1)).toContain(expected);
  });
});

describe("buttons", () => {
  it("ask the owner for a yes, and the press decides", async () => {
    fake.say(ANN, call("current_time", {}));
    await fake.until(() => fake.sent.some(({ to, buttons }) => to === OWNER && buttons.length > 0));
    const asked = fake.sent.find(({ to, buttons }) => to === OWNER && buttons.length > 0);
    fake.press(OWNER, asked?.buttons[0]?.id ?? "");
    await fake.until(() => fake.textsTo(ANN).some((text) => text.startsWith("then:")));
    await settle();
  });

  it("offer the choices of a question, long ones in a list", async () => {
    const choices = ["Tea", "Coffee", "Water", "Something else that has a rather long name"];
    fake.say(BOB, call("ask_user", { question: "What?", choices }));
    await fake.until(() => fake.sent.some(({ to, buttons }) => to === BOB && buttons.length === 4));
    await settle();
    const question = fake.sent.find(({ to, buttons }) => to === BOB && buttons.length === 4);
    fake.press(BOB, question?.buttons[3]?.id ?? "", "list_reply");
    await settle();
    expect(prompts.at(-1)).toContain("Something else that has a rather long name");
    const before = prompts.length;
    fake.press(BOB, question?.buttons[0]?.id ?? "", "list_reply");
    await settle();
    expect(prompts).toHaveLength(before);
  });
});

describe("what the platform says later", () => {
  // The owner has shared a contact, whose name is untrusted text.
  beforeAll(async () => {
    fake.say(OWNER, "/new");
    await settle();
  });

  it("confirms a message whose answer was lost", async () => {
    fake.fail("message", { cut: "after" });
    fake.say(BOB, "lost answer");
    await fake.until(() => fake.textsTo(BOB).includes("answer to lost answer"));
    await settle();
    expect(await outbox("unconfirmed")).toEqual([]);
    expect(fake.textsTo(BOB).filter((text) => text === "answer to lost answer")).toHaveLength(1);
  });

  it("leaves a message unconfirmed about which it says nothing, and tells the agent what failed", async () => {
    fake.fail("message", { cut: "before" });
    fake.say(BOB, "cut off");
    expect((await world.ended("unconfirmed", 1)).map(({ payload }) => payload.text)).toEqual(["answer to cut off"]);
    const sent = fake.sent.findLast(({ to }) => to === BOB);
    fake.status(sent?.id ?? "", BOB, "failed", sent?.delivery, fake.number, [
      { code: 131_026, title: "Undeliverable" },
    ]);
    await settle();
    expect((await outbox("failed")).map(({ reason }) => reason)).toContain("131026: Undeliverable");
  });

  it.each(["answer", "status"] as const)(
    "refuses what comes after 24 hours by %s, and the agent reads why",
    async (by) => {
      fake.openChats = new Set([OWNER]);
      fake.windowBy = by;
      fake.say(OWNER, call("message", { action: "send", text: `late by ${by}`, to: `whatsapp:${BOB}` }));
      await settle();
      await settle();
      expect(fake.textsTo(BOB)).not.toContain(`late by ${by}`);
      const failed = (await outbox("failed")).find(({ payload }) => payload.text === `late by ${by}`);
      expect(failed?.reason).toContain("The person has not written for 24 hours.");
      fake.say(OWNER, "and?");
      await settle();
      const seen = JSON.stringify(world.lastRequest);
      expect(seen).toContain(`This did not reach whatsapp:${BOB}`);
      expect(seen).toContain("only templates");
      fake.openChats = undefined;
    },
  );
});

describe("several numbers of one app", () => {
  it("take their events at one address, and answer from the number that was written to", async () => {
    const message = {
      from: OWNER,
      id: fake.takeId(),
      timestamp: String(fake.now()),
      type: "text",
      text: { body: "shop?" },
    };
    fake.pushMessage(message, SECOND);
    await fake.until(() => fake.sent.some(({ number }) => number === SECOND));
    await settle();
    expect(fake.sent.filter(({ number }) => number === SECOND).map(({ text }) => text)).toEqual(["answer to shop?"]);
  });

  it("do not take the events of a number of another app, or of no one", async () => {
    const before = prompts.length;
    for (const number of ["3077700", "999"]) {
      const message = {
        from: OWNER,
        id: fake.takeId(),
        timestamp: String(fake.now()),
        type: "text",
        text: { body: "x" },
      };
      fake.pushMessage(message, number);
    }
    await settle();
    expect(prompts).toHaveLength(before);
    expect(world.lines.filter(({ message }) => message.includes("not in the configuration"))).toHaveLength(2);
  });

  it.each(["answer", "status"] as const)("send the template of the number after 24 hours, told by %s", async (by) => {
    fake.openChats = new Set([OWNER]);
    fake.windowBy = by;
    const to = `whatsapp@shop:${BOB}`;
    fake.say(OWNER, call("message", { action: "send", text: `news\nby ${by}`, to }));
    await fake.until(() => fake.textsTo(BOB).includes(`[news] news by ${by}`));
    await settle();
    expect(fake.textsTo(BOB).filter((text) => text.includes(`by ${by}`) && text.includes("news"))).toHaveLength(1);
    fake.openChats = undefined;
    fake.say(BOB, "thanks");
    await settle();
  });
});
