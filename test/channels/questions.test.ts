/**
 * Questions about calls and answers that may not have arrived, as a person sees them on real connectors with a button under each
 * question: Telegram and WhatsApp (M31, M44, M46).
 */
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { defineTool } from "../../src/app/library/define-tool.ts";
import { virtualClock } from "../../src/app/testing/clock.ts";
import { lastText, type ModelCall, type Reply } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { FakeWhatsapp } from "../whatsapp/fake-whatsapp.ts";

const NOTICE = "My last answer may not have arrived. Send /again to see it.";
const WAIT_MS = 8_000;
const STEP_MS = 500;
const OWNER = 7;
const GUESTS = [41, 42, 43] as const;

/** "pay N" makes the model pay; anything else is repeated. */
function script({ request }: ModelCall): Reply {
  if (request.messages.at(-1)?.role === "tool") return `then: ${lastText(request, "tool")}`;
  const text = lastText(request);
  const n = /^pay (\d)$/u.exec(text)?.[1];
  return n === undefined ? `answer to ${text}` : { call: [{ name: "pay", with: { n } }] };
}

interface Seen {
  readonly text: string;
  /** Those of its buttons, from the first. */
  readonly tokens: readonly string[];
  press(token: string): void;
}

/** A platform as its people see it. */
interface Platform {
  start(): Promise<unknown>;
  readonly config: () => Record<string, unknown>;
  readonly name: string;
  say(person: number, text: string): unknown;
  seen(person: number): readonly Seen[];
  /** The next messages arrive, and the engine never learns it. */
  loseAnswers(count: number, how: "cut" | "hang"): void;
  /** The next message is refused for some seconds. Returns whether it was. */
  refuseOnce(): () => boolean;
  during<T>(work: Promise<T>): Promise<T>;
  until(holds: () => boolean, ms: number): Promise<void>;
  close(): Promise<void>;
}

type Clock = ReturnType<typeof virtualClock>;

const losses = (count: number, how: "cut" | "hang") =>
  Array.from({ length: count }, () => (how === "cut" ? ({ cut: "after" } as const) : ({ hang: "after" } as const)));

function telegram(clock: Clock): Platform {
  const fake = new FakeTelegram({ clock, stepMs: STEP_MS });
  const messages = (): number => fake.calls.filter(({ method }) => method === "sendMessage").length;
  return {
    name: "telegram",
    start: () => fake.start(),
    config: () => ({ token: fake.token, apiRoot: fake.url, drafts: false, reactions: false }),
    say: (person, text) => fake.say(person, text),
    seen: (person) =>
      fake.sent
        .filter(({ chat }) => chat === String(person))
        .map(({ id, text, args }) => {
          const markup = args.reply_markup as { inline_keyboard: { callback_data: string }[][] } | undefined;
          const tokens = markup?.inline_keyboard.flat().map((one) => one.callback_data) ?? [];
          return { text, tokens, press: (token) => fake.press(person, id, token) };
        }),
    loseAnswers: (count, how) => fake.fail("sendMessage", ...losses(count, how)),
    refuseOnce() {
      const answer = { code: 429, description: "Too Many Requests", parameters: { retry_after: 10 } };
      const before = messages();
      fake.fail("sendMessage", { answer });
      return () => messages() > before;
    },
    during: (work) => fake.during(work),
    until: (holds, ms) => fake.until(holds, ms),
    close: () => fake.close(),
  };
}

function whatsapp(clock: Clock, fetch: Rookery["fetch"]): Platform {
  const fake = new FakeWhatsapp({
    ...{ clock, stepMs: STEP_MS },
    bring: async (request) =>
      (await fetch(new Request("http://127.0.0.1/channels/whatsapp", { method: "POST", ...request }))).status,
  });
  return {
    name: "whatsapp",
    start: () => fake.start(),
    config: () => {
      const { token, appSecret, number: phoneNumberId, url: apiRoot, verifyToken: secret } = fake;
      return { token, appSecret, phoneNumberId, apiRoot, webhook: { secret } };
    },
    say: (person, text) => fake.say(String(person), text),
    seen: (person) =>
      fake.sent
        .filter(({ to }) => to === String(person))
        .map(({ text, buttons }) => ({
          text,
          tokens: buttons.map(({ id }) => id),
          press: (token) => fake.press(String(person), token),
        })),
    loseAnswers: (count, how) => fake.fail("message", ...losses(count, how)),
    refuseOnce() {
      fake.fail("message", { answer: { status: 429, code: 130_429 } });
      return () => fake.faultsOf("message") === 0;
    },
    during: (work) => fake.during(work),
    until: (holds, ms) => fake.until(holds, ms),
    close: () => fake.close(),
  };
}

/** A running engine with one platform, and what its tool has paid. */
class World {
  readonly clock = virtualClock();
  readonly paid: string[] = [];
  readonly platform: Platform;
  rookery!: Rookery;

  constructor(name: "telegram" | "whatsapp") {
    this.platform =
      name === "telegram" ? telegram(this.clock) : whatsapp(this.clock, (request) => this.rookery.fetch(request));
  }

  async open(): Promise<this> {
    const { name, start, config } = this.platform;
    await start();
    this.rookery = await createRookery({
      ...{ home: "memory", clock: this.clock, model: scripted(...Array.from({ length: 200 }, () => script)) },
      tools: [
        defineTool({
          ...{ name: "pay", description: "Pays", approval: true, input: z.object({ n: z.string() }) },
          execute: ({ n }) => {
            this.paid.push(n);
            return "paid";
          },
        }),
      ],
      config: {
        queue: { debounceMs: 0 },
        session: { dmScope: "per-channel-peer" },
        connectors: { [name]: config() },
        owner: { accounts: [`${name}:${OWNER}`] },
        people: {
          records: Object.fromEntries(GUESTS.map((one) => [`guest${one}`, { accounts: [`${name}:${one}`] }])),
        },
      },
    });
    return this;
  }

  async close(): Promise<void> {
    await this.platform.during(this.rookery.close());
    await this.platform.close();
  }

  seen(): readonly Seen[] {
    return this.platform.seen(OWNER);
  }

  texts(): readonly string[] {
    return this.seen().map(({ text }) => text);
  }

  questions(): readonly Seen[] {
    return this.seen().filter(({ tokens }) => tokens.length > 0);
  }

  /** How many guests have read that the owner is asked. */
  asked(): number {
    return GUESTS.filter((one) => this.platform.seen(one).some(({ text }) => text.includes("was asked for"))).length;
  }

  until(holds: () => boolean, what: string): Promise<void> {
    return this.platform.until(holds, WAIT_MS).catch((cause) => {
      throw new Error(`${what}; the owner sees ${JSON.stringify(this.texts())}`, { cause });
    });
  }

  /** The owner writes, and reads an answer. Returns what came before it. */
  async say(text: string): Promise<readonly string[]> {
    const before = this.seen().length;
    const answers = (): number => this.texts().findIndex((one, n) => n >= before && one.endsWith(`answer to ${text}`));
    await this.platform.say(OWNER, text);
    await this.until(() => answers() >= 0, `"${text}" was not answered`);
    return this.texts().slice(before, answers());
  }

  async ask(): Promise<void> {
    await this.platform.say(OWNER, "pay 1");
    await this.until(() => this.questions().length > 0, "nothing is asked");
  }

  /** Lets time pass. */
  async pass(seconds: number): Promise<void> {
    const until = this.clock.now() + seconds * 1_000;
    await this.until(() => this.clock.now() >= until, "time stands still");
  }

  pressYes(question: Seen | undefined): void {
    const token = question?.tokens[0];
    if (token === undefined) throw new TypeError(`no buttons: ${JSON.stringify(this.texts())}`);
    question?.press(token);
  }
}

let world: World;
afterEach(() => world.close());

describe.each([
  ["telegram", "cut"],
  ["whatsapp", "hang"],
] as const)("on %s", (name, how) => {
  it("executes a call once when its button is pressed after the conversation has moved on", async () => {
    world = await new World(name).open();
    await world.ask();
    await world.say("hello");
    const [question] = world.questions();
    world.pressYes(question);
    await world.until(() => world.texts().some((text) => text.endsWith("\npaid")), "the yes has no effect");
    expect(world.paid).toEqual(["1"]);
    world.pressYes(question);
    await world.say("hello again");
    await world.pass(60);
    expect(world.paid).toEqual(["1"]);
    expect(world.questions()).toHaveLength(1);
  });

  it("sends a question that may not have arrived three times, and once more when the person writes, with buttons that work", async () => {
    world = await new World(name).open();
    world.platform.loseAnswers(3, how);
    await world.ask();
    await world.until(() => world.questions().length === 3, "the question is not repeated");
    await world.pass(60);
    expect(world.questions()).toHaveLength(3);
    await world.say("hello");
    world.platform.loseAnswers(1, how);
    await world.until(() => world.questions().length === 4, "the question is not repeated for who writes");
    await world.pass(60);
    await world.say("are you there?");
    await world.pass(60);
    expect(world.questions()).toHaveLength(4);
    world.pressYes(world.questions()[1]);
    await world.until(() => world.paid.length > 0, "the second copy does not work");
    world.pressYes(world.questions()[3]);
    await world.pass(60);
    expect(world.paid).toEqual(["1"]);
  });

  it("shows a question after an answer that waits", async () => {
    world = await new World(name).open();
    await world.say("hello");
    const isRefused = world.platform.refuseOnce();
    world.platform.say(OWNER, "how are you?");
    await world.until(isRefused, "the answer is not sent");
    world.platform.say(GUESTS[0], "pay 1");
    await world.until(() => world.questions().length > 0, "the question is not shown");
    expect(world.texts().slice(0, 2)).toEqual(["answer to hello", "answer to how are you?"]);
  });

  it("shows several questions in one message, the next one after an answer", async () => {
    world = await new World(name).open();
    await world.say("hello");
    for (const [before, guest] of GUESTS.entries()) {
      world.platform.say(guest, "pay 1");
      await world.until(() => world.asked() > before, `nothing is asked for ${guest}`);
    }
    await world.pass(60);
    expect(world.questions()).toHaveLength(1);
    expect(await world.say("how are you?")).toEqual([]);
    await world.until(() => world.questions().length === 2, "the next question is not shown");
    expect(world.questions()[1]?.text).toContain("3 questions wait.");
    world.pressYes(world.questions()[1]);
    await world.until(() => world.questions().length === 3, "the last question is not shown");
    expect(world.questions()[2]?.text).toContain("2 questions wait.");
    await world.until(() => world.paid.length === 1, "the payment");
  });

  it("tells once that an answer may not have arrived, and sends it again on request", async () => {
    world = await new World(name).open();
    world.platform.loseAnswers(1, how);
    await world.say("hello");
    await world.say("are you there?");
    await world.pass(60);
    await world.say("really?");
    await world.pass(60);
    const count = (end: string): number => world.texts().filter((text) => text.endsWith(end)).length;
    const notices = (): number => world.texts().filter((text) => text.includes(NOTICE)).length;
    expect([count("answer to hello"), notices()]).toEqual([1, 1]);
    world.platform.say(OWNER, "/again");
    await world.until(() => count("answer to hello") === 2, "/again sends nothing");
    await world.pass(60);
    expect([count("answer to hello"), count("answer to are you there?"), notices()]).toEqual([2, 1, 1]);
  });
});
