/** What agents do in chats with tools: messages, reactions, questions with buttons, and calls that wait for a yes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeTelegram } from "../../../../test/telegram/fake-telegram.ts";
import { createRookery, type Rookery } from "../../../app/library/create-rookery.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { lastText, type ModelCall, type Reply } from "../../../app/testing/model.ts";
import { scripted } from "../../../app/testing/scripted.ts";

const OWNER = 7;
const clock = virtualClock();
let fake: FakeTelegram;
let rookery: Rookery;
const prompts: string[] = [];

/** "call NAME JSON" makes the model call a tool; the result of a tool ends the turn. */
function script({ request }: ModelCall): Reply {
  const last = request.messages.at(-1);
  if (last?.role === "tool") return `then: ${lastText(request, "tool")}`;
  const prompt = lastText(request);
  prompts.push(prompt);
  const [, name, json] = /call (\w+) (\{.*\})/su.exec(prompt) ?? [];
  return name === undefined ? `answer to ${prompt}` : { call: [{ name, with: JSON.parse(json ?? "{}") }] };
}

beforeAll(async () => {
  fake = await new FakeTelegram({ clock }).start();
  const telegram = { token: "123456:fake-token", apiRoot: fake.url, drafts: false, reactions: false };
  rookery = await createRookery({
    home: "memory",
    clock,
    model: scripted(...Array.from({ length: 200 }, () => script)),
    config: {
      connectors: { telegram },
      owner: { accounts: [`telegram:${OWNER}`] },
      people: {
        records: {
          ann: { accounts: ["telegram:42", "telegram:43"], grants: [{ ask: "current_time" }] },
          bob: { accounts: ["telegram:77"] },
        },
      },
    },
  });
});

afterAll(async () => {
  await fake.during(rookery.close());
  await fake.close();
});

interface SentButton {
  readonly callback_data: string;
  readonly style?: string;
}

const buttonsOf = (message: { readonly args: Record<string, unknown> } | undefined): readonly SentButton[] => {
  const markup = message?.args.reply_markup as { inline_keyboard: readonly (readonly SentButton[])[] } | undefined;
  return markup?.inline_keyboard.flat() ?? [];
};

const call = (name: string, input: object): string => `call ${name} ${JSON.stringify(input)}`;

describe("message", () => {
  it("sends, edits, reacts and deletes in the own chat, and the answer follows", async () => {
    const asked = fake.say(42, call("message", { action: "send", text: "first" }));
    await fake.until(() => fake.textsTo(42).length === 2);
    expect(fake.textsTo(42)).toEqual(["first", "then: The message is on its way."]);
    const id = String(fake.sent[0]?.id);
    fake.say(42, call("message", { action: "edit", messageId: id, text: "better" }));
    await fake.until(() => fake.textsTo(42).includes("better"));
    fake.say(42, call("message", { action: "react", messageId: String(asked), emoji: "🎉" }));
    await fake.until(() => fake.reactions.some(({ message_id }) => message_id === asked));
    fake.say(42, call("message", { action: "delete", messageId: id }));
    await fake.until(() => !fake.textsTo(42).includes("better"));
  });

  it("replies to the message that is answered, or to the one it names", async () => {
    const first = fake.say(42, call("message", { action: "reply", text: "to this one" }));
    await fake.until(() => fake.textsTo(42).includes("to this one"));
    fake.say(42, call("message", { action: "reply", text: "to the first one", messageId: String(first) }));
    await fake.until(() => fake.textsTo(42).includes("to the first one"));
    for (const text of ["to this one", "to the first one"])
      expect(fake.sent.find((one) => one.text === text)?.args.reply_parameters).toMatchObject({ message_id: first });
  });

  it("does not repeat as the answer what it has sent", async () => {
    fake.say(OWNER, call("message", { action: "send", text: "then: The message is on its way." }));
    await fake.until(() => fake.textsTo(OWNER).length === 1);
    await fake.during(rookery.settled());
    expect(fake.textsTo(OWNER)).toHaveLength(1);
  });

  it("reaches the person's own other account, and no one else without a grant", async () => {
    fake.say(42, call("message", { action: "send", text: "to myself", to: "telegram:43" }));
    await fake.until(() => fake.textsTo(43).length === 1);
    fake.say(42, call("message", { action: "send", text: "hello bob", to: "telegram:77" }));
    await fake.until(() => fake.textsTo(42).at(-1)?.includes("belongs to another person") === true);
    expect(fake.textsTo(77)).toEqual([]);
  });
});

describe("send_file", () => {
  it("sends a file of the workspace that the model has written, with its text", async () => {
    const before = fake.textsTo(OWNER).length;
    fake.say(OWNER, call("write", { path: "report.csv", content: "a,b 1,2." }));
    await fake.until(() => fake.textsTo(OWNER).length > before);
    fake.say(OWNER, call("send_file", { path: "report.csv", text: "the figures" }));
    await fake.until(() => fake.sent.some(({ method }) => method === "sendDocument"));
    expect(fake.sent.find(({ method }) => method === "sendDocument")?.chat).toBe(String(OWNER));
    expect(fake.textsTo(OWNER)).toContain("the figures");
    await fake.until(() => fake.textsTo(OWNER).at(-1)?.includes("report.csv (8 bytes") ?? false);
  });
});

describe("set_reaction", () => {
  it("reacts to the message that is answered", async () => {
    const id = fake.say(77, call("set_reaction", { emoji: "👍" }));
    await fake.until(() => fake.reactions.some(({ message_id }) => message_id === id));
  });
});

describe("ask_user", () => {
  it("asks with buttons, ends the run, and takes the first choice as a message that names the question", async () => {
    fake.say(77, call("ask_user", { question: "Tea or coffee?", choices: ["Tea", "Coffee"] }));
    await fake.until(() => fake.textsTo(77).includes("Tea or coffee?"));
    await fake.during(rookery.settled());
    const question = fake.sent.find(({ text }) => text === "Tea or coffee?");
    const [tea, coffee] = buttonsOf(question);
    if (!tea || !coffee) throw new TypeError("no buttons");
    for (const { callback_data } of [tea, coffee]) expect(Buffer.byteLength(callback_data)).toBeLessThanOrEqual(64);
    // Someone else, in another chat, with the token.
    fake.press(42, question?.id ?? 0, coffee.callback_data);
    await fake.until(() => fake.answered.length === 1);
    expect(fake.answered[0]?.text).toBe("This question is no longer open.");
    fake.press(77, question?.id ?? 0, coffee.callback_data);
    fake.press(77, question?.id ?? 0, tea.callback_data);
    await fake.until(() => fake.answered.length === 3);
    await fake.until(() => prompts.at(-1)?.startsWith("[Answer to your question") ?? false);
    expect(prompts.at(-1)).toBe('[Answer to your question "Tea or coffee?"] Coffee');
    expect(fake.answered.map(({ text }) => text)).toEqual([
      "This question is no longer open.",
      "Coffee",
      "This question is no longer open.",
    ]);
  });
});

describe("the buttons of a question", () => {
  const WEEK_MS = 7 * 24 * 3600_000;
  const ask = async (question: string) => {
    fake.say(77, call("ask_user", { question, choices: ["Yes", "No"] }));
    await fake.until(() => fake.textsTo(77).includes(question));
    await fake.during(rookery.settled());
    const sent = fake.sent.find(({ text }) => text === question);
    return { id: sent?.id ?? 0, yes: buttonsOf(sent)[0]?.callback_data ?? "" };
  };
  const pressed = async ({ id, yes }: Awaited<ReturnType<typeof ask>>): Promise<unknown> => {
    const before = fake.answered.length;
    fake.press(77, id, yes);
    await fake.until(() => fake.answered.length > before);
    return fake.answered.at(-1)?.text;
  };

  it("work for half a year, and say plainly when they are too old", async () => {
    const [soon, never] = [await ask("Shall I book it?"), await ask("Shall I cancel it?")];
    clock.jump(20 * WEEK_MS);
    // A round of retention takes place in between.
    await fake.during(clock.advance(3_700_000));
    expect(await pressed(soon)).toBe("Yes");
    await fake.until(() => prompts.at(-1) === '[Answer to your question "Shall I book it?"] Yes');
    clock.jump(6 * WEEK_MS);
    const old = "This question is too old for its buttons. Write your answer as a message.";
    expect(await pressed(never)).toBe(old);
    await fake.during(clock.advance(3_700_000));
    expect(await pressed(never)).toBe(old);
    expect(prompts.some((text) => text.includes("Shall I cancel it?") && text.startsWith("[Answer"))).toBe(false);
  });
});

describe("a call that waits for a yes", () => {
  it("is asked with buttons in the owner's chat, and only the owner's yes counts", async () => {
    const answers = (): number => fake.textsTo(42).filter((text) => text.startsWith("then: ")).length;
    const answered = answers();
    fake.say(42, call("current_time", {}));
    await fake.until(
      () => fake.sent.some(({ chat, args }) => chat === String(OWNER) && args.reply_markup !== undefined),
      15_000,
    );
    const question = fake.sent.findLast(({ chat, args }) => chat === String(OWNER) && args.reply_markup !== undefined);
    const [yes, always] = buttonsOf(question);
    if (!yes || !always) throw new TypeError("no buttons");
    expect(yes.style).toBe("success");
    const before = fake.answered.length;
    fake.press(77, question?.id ?? 0, yes.callback_data);
    await fake.until(() => fake.answered.length === before + 1);
    fake.press(42, question?.id ?? 0, yes.callback_data);
    await fake.until(() => fake.answered.length === before + 2);
    expect(answers()).toBe(answered);
    fake.press(OWNER, question?.id ?? 0, yes.callback_data);
    await fake.until(() => answers() === answered + 1);
    expect(fake.answered.at(-1)?.text).toBe("current_time is approved.");
  });

  it("is answered for always with exactly this call, by the owner only", async () => {
    const count = (): number => fake.textsTo(42).filter((text) => text.startsWith("then: ")).length;
    const ask = async (): Promise<{ readonly id: number; readonly token: (label: string) => string }> => {
      const before = fake.sent.length;
      fake.say(42, call("current_time", {}));
      const isQuestion = ({ chat, args }: { chat: string; args: Record<string, unknown> }): boolean =>
        chat === String(OWNER) && args.reply_markup !== undefined;
      await fake.until(() => fake.sent.slice(before).some(isQuestion));
      const id = fake.sent.findLast(isQuestion)?.id ?? 0;
      return { id, token: (label) => buttonsIn(id).find(({ text }) => text.startsWith(label))?.callback_data ?? "" };
    };
    const buttonsIn = (id: number): readonly (SentButton & { readonly text: string })[] => {
      const edited = fake.calls.findLast(
        ({ method, args }) => method === "editMessageReplyMarkup" && args.message_id === id,
      );
      const message = fake.sent.find((one) => one.id === id);
      return buttonsOf(edited ?? message) as readonly (SentButton & { readonly text: string })[];
    };
    const press = async (user: number, id: number, token: string): Promise<string> => {
      const before = fake.answered.length;
      fake.press(user, id, token);
      await fake.until(() => fake.answered.length > before);
      return String(fake.answered.at(-1)?.text);
    };
    const { id, token } = await ask();
    // The guest is not shown the rules, and no one else.
    await press(77, id, token("Yes, always"));
    expect(buttonsIn(id).map(({ text }) => text)).toEqual(["Yes, once", "Yes, always …", "No"]);
    expect(await press(OWNER, id, token("Yes, always"))).toBe("Choose what to allow from now on.");
    await fake.until(() => buttonsIn(id).length === 2);
    expect(buttonsIn(id).map(({ text }) => text)).toEqual([expect.stringMatching(/^Always: /u), "Back"]);
    await press(OWNER, id, token("Back"));
    await fake.until(() => buttonsIn(id).length === 3);
    await press(OWNER, id, token("Yes, always"));
    await fake.until(() => buttonsIn(id).length === 2);
    const always = token("Always: ");
    expect(await press(42, id, always)).toContain("Only the owner");
    const answered = count();
    expect(await press(OWNER, id, always)).toContain("current_time is approved, and allowed");
    await fake.until(() => count() === answered + 1);
    // The next call is not asked about.
    fake.say(42, call("current_time", {}));
    await fake.until(() => count() === answered + 2);
    const grants = (await rookery.people.get("ann")).grants;
    expect(JSON.stringify(grants)).toContain('"allow":"call(current_time:');
  });
});
