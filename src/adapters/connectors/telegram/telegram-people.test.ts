/** Who may write over Telegram: strangers, people who are let in, groups, and one person with several accounts. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeTelegram, type Json } from "../../../../test/telegram/fake-telegram.ts";
import { createRookery, type Rookery } from "../../../app/library/create-rookery.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { lastText, type ModelCall } from "../../../app/testing/model.ts";
import { scripted } from "../../../app/testing/scripted.ts";

const OWNER = 7;
const clock = virtualClock();
let fake: FakeTelegram;
let rookery: Rookery;
const prompts: string[] = [];

async function open(session: object = {}): Promise<Rookery> {
  const model = scripted(
    ...Array.from({ length: 200 }, () => (call: ModelCall) => {
      prompts.push(lastText(call.request));
      return `answer to ${lastText(call.request)}`;
    }),
  );
  const telegram = { token: "123456:fake-token", apiRoot: fake.url };
  return createRookery({
    home: "memory",
    clock,
    model,
    config: { connectors: { telegram }, owner: { accounts: [`telegram:${OWNER}`] }, session },
  });
}

beforeAll(async () => {
  fake = await new FakeTelegram({ clock }).start();
  rookery = await open({ dmScope: "per-peer" });
});

afterAll(async () => {
  await fake.during(rookery.close());
  await fake.close();
});

const codeFrom = (text: string | undefined): string => /code: (\w+)/u.exec(text ?? "")?.[1] ?? "";
const keys = async (): Promise<readonly string[]> =>
  (await rookery.agents.list()).items.map(({ sessionKey }) => sessionKey);

describe("someone who is not known", () => {
  it("reaches no agent, costs no model call, and gets one polite line with a code", async () => {
    fake.say(50, "hello?");
    fake.say(50, "anyone?");
    fake.say(50, "/status");
    await fake.until(() => fake.textsTo(50).length === 1);
    await fake.until(() => fake.pending === 0);
    await fake.during(rookery.settled());
    expect(fake.textsTo(50)).toEqual([expect.stringContaining("If you know my owner, send them this code")]);
    expect(prompts).toEqual([]);
    expect(await keys()).toEqual([]);
    expect(fake.reactions).toEqual([]);
  });

  it("is let in by the owner in a chat, with the account and not the name", async () => {
    const code = codeFrom(fake.textsTo(50)[0]);
    fake.say(OWNER, `/pair ${code} as ann`);
    await fake.until(() => fake.textsTo(OWNER).length === 1);
    expect(fake.textsTo(OWNER)[0]).toContain("telegram:50 is let in as ann");
    fake.say(50, "hello again");
    await fake.until(() => fake.textsTo(50).length === 2);
    expect(fake.textsTo(50)[1]).toBe("answer to hello again");
    expect(await keys()).toContain("agent:main:dm:ann");
  });

  it("cannot let anyone in, nor can a guest", async () => {
    fake.say(51, "hi");
    await fake.until(() => fake.textsTo(51).length === 1);
    fake.say(50, `/pair ${codeFrom(fake.textsTo(51)[0])}`);
    await fake.until(() => fake.textsTo(50).length === 3);
    expect(fake.textsTo(50)[2]).toContain("You may not use /pair");
    fake.say(51, "and now?");
    await fake.until(() => fake.pending === 0);
    await fake.during(rookery.settled());
    expect(fake.textsTo(51)).toHaveLength(1);
  });

  it("is blocked for good", async () => {
    fake.say(OWNER, "/pair block telegram:51");
    await fake.until(() => fake.textsTo(OWNER).at(-1)?.includes("is blocked") === true);
    fake.say(51, "let me in");
    await fake.until(() => fake.pending === 0);
    expect(fake.textsTo(51)).toHaveLength(1);
  });

  it("never shares a conversation with another stranger who was let in", async () => {
    for (const user of [52, 53]) fake.say(user, "hi");
    await fake.until(() => [52, 53].every((user) => fake.textsTo(user).length === 1));
    for (const user of [52, 53]) fake.say(OWNER, `/pair ${codeFrom(fake.textsTo(user)[0])}`);
    await fake.until(() => fake.textsTo(OWNER).filter((text) => text.includes("is let in")).length === 3);
    for (const user of [52, 53]) fake.say(user, `I am ${user}`);
    await fake.until(() => [52, 53].every((user) => fake.textsTo(user).length === 2));
    expect(await keys()).toEqual(expect.arrayContaining(["agent:main:dm:telegram-52", "agent:main:dm:telegram-53"]));
  });
});

describe("a group", () => {
  const GROUP: Json = { id: -900, type: "supergroup", title: "Group 900" };

  it("is let in as a group: the owner is asked there, and nobody else can answer", async () => {
    const before = prompts.length;
    fake.sayIn(-900, OWNER, "@rook_bot hello");
    await fake.until(() => fake.textsTo(-900).length === 1);
    expect(prompts.length).toBe(before);
    const [asked] = fake.sent.filter(({ chat }) => chat === "-900");
    expect(asked?.text).toContain("Shall I answer in this group?");
    const [yes = ""] = JSON.stringify(asked?.args.reply_markup).match(/g:\w+:y/u) ?? [];
    const press = async (user: number): Promise<unknown> => {
      const answered = fake.answered.length;
      fake.press(user, Number(asked?.id), yes, GROUP);
      await fake.until(() => fake.answered.length > answered);
      return fake.answered.at(-1)?.text;
    };
    expect(await press(60)).toBe("You are not known here.");
    expect(await press(OWNER)).toContain("I answer in this group from now on");
    const members = [60, 61, 62, 63];
    for (const user of members) fake.sayIn(-900, user, `I am ${user}`);
    fake.sayIn(-900, 64, "@rook_bot who is here?");
    await fake.until(() => fake.textsTo(-900).length === 2);
    const prompt = prompts.at(-1) ?? "";
    for (const user of members) expect(prompt).toContain(`Person ${user}: I am ${user}`);
    expect(prompt).toContain('<speaker id="telegram:64" role="stranger" name="Person 64"/>');
  });

  it("gives its members no right to write directly", async () => {
    fake.say(64, "psst");
    await fake.until(() => fake.textsTo(64).length === 1);
    expect(fake.textsTo(64)[0]).toContain("I do not know you yet");
  });
});

describe("/start", () => {
  it("welcomes the owner and guests without a model call, and gives a stranger the code", async () => {
    const before = prompts.length;
    for (const user of [OWNER, 50, 80]) {
      const shown = fake.textsTo(user).length;
      fake.say(user, "/start");
      await fake.until(() => fake.textsTo(user).length > shown);
    }
    for (const user of [OWNER, 50]) expect(fake.textsTo(user).at(-1)).toMatch(/^Hello\. Write what you need/u);
    expect(fake.textsTo(80)).toEqual([expect.stringContaining("I do not know you yet")]);
    expect(prompts.length).toBe(before);
  });
});

describe("one person with two accounts", () => {
  it("links the second from inside a chat, and has one conversation from then on", async () => {
    fake.say(50, "/link");
    await fake.until(() => fake.textsTo(50).at(-1)?.includes("/link ") === true);
    const code = /\/link (\w+)/u.exec(fake.textsTo(50).at(-1) ?? "")?.[1] ?? "";
    fake.say(70, `/link ${code}`);
    await fake.until(() => fake.textsTo(70).length === 1);
    expect(fake.textsTo(70)[0]).toContain("is linked");
    const before = (await keys()).length;
    fake.say(70, "the other phone");
    await fake.until(() => fake.textsTo(70).length === 2);
    expect(fake.textsTo(70)[1]).toContain("the other phone");
    expect((await keys()).length).toBe(before);
    // The code is used up.
    fake.say(71, `/link ${code}`);
    await fake.until(() => fake.textsTo(71).length === 1);
    expect(fake.textsTo(71)[0]).toContain("I do not know you yet");
  });

  it("is the owner with both, in the main conversation", async () => {
    fake.say(OWNER, "/link");
    await fake.until(() => fake.textsTo(OWNER).at(-1)?.includes("/link ") === true);
    const code = /\/link (\w+)/u.exec(fake.textsTo(OWNER).at(-1) ?? "")?.[1] ?? "";
    fake.say(8, `/start ${code}`);
    await fake.until(() => fake.textsTo(8).length === 1);
    const before = await keys();
    fake.say(8, "it is me");
    await fake.until(() => fake.textsTo(8).length === 2);
    expect(await keys()).toEqual(before);
  });
});
