/**
 * "Remind me in twenty seconds", asked in every way on every real connector, with the heartbeat on and off: one message at that time, to
 * the person who asked (M46). `REMINDERS=print` prints the messages that each person got.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stdinConnector } from "../../src/adapters/connectors/stdin/stdin-connector.ts";
import { whatsappWebConnector } from "../../src/adapters/connectors/whatsapp-web/whatsapp-web-connector.ts";
import { jobFrom } from "../../src/app/cli/commands/job-flags.ts";
import { createRookery, type Rookery } from "../../src/app/library/create-rookery.ts";
import { virtualClock } from "../../src/app/testing/clock.ts";
import { seededIds } from "../../src/app/testing/ids.ts";
import { recordingLog } from "../../src/app/testing/log.ts";
import { lastText, type ModelCall, type Reply } from "../../src/app/testing/model.ts";
import { scripted } from "../../src/app/testing/scripted.ts";
import { memoryStore } from "../../src/app/testing/store.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import type { Connector } from "../../src/core/ports/connector.ts";
import { FakeTelegram } from "../telegram/fake-telegram.ts";
import { FakeProgram } from "../webhook/fake-program.ts";
import { FakeWhatsapp } from "../whatsapp/fake-whatsapp.ts";
import { FakeWeb } from "../whatsapp-web/fake-web.ts";

const [TELEGRAM, WHATSAPP, WEB, PROGRAM] = [7, "4915001", "4915002", "ann"] as const;
const WEB_NAME = "whatsapp-web";
const WAIT_MS = 20_000;
const SECONDS = 20;
const IN = { kind: "at", inMs: SECONDS * 1_000 } as const;
const SAID = /Time for (\w+) at (\d+)\./u;

/** The job that the tool is called with; the word is the reminder's. */
const asEvent = (word: string) => ({
  name: word,
  schedule: IN,
  payload: { kind: "systemEvent", text: `Say ${word}.` },
});
const asTurn = (word: string) => ({ name: word, schedule: IN, payload: { message: `Say ${word}.` } });

/** Schedules what it is asked for. Each prompt that says a word is answered with the reminder, even that of a heartbeat. */
const scriptAt =
  (now: () => number) =>
  ({ request }: ModelCall): Reply => {
    const text = lastText(request);
    if (request.messages.at(-1)?.role === "tool") return "Yes.";
    const asked = /remind me by (tool|turn) of (\w+)$/u.exec(text);
    if (asked?.[2]) {
      const job = asked[1] === "tool" ? asEvent(asked[2]) : asTurn(asked[2]);
      return { call: [{ name: "cron", with: { action: "add", job } }] };
    }
    const word = /(?:Say|as they asked:) (\w+)/u.exec(text)?.[1];
    if (word !== undefined) return `Time for ${word} at ${now()}.`;
    return text.includes("HEARTBEAT") ? "HEARTBEAT_OK" : "Hello.";
  };

class World {
  readonly clock = virtualClock();
  readonly printed: string[] = [];
  readonly lines: ((line: string) => void)[] = [];
  readonly web = new FakeWeb();
  readonly telegram = new FakeTelegram({ clock: this.clock });
  readonly whatsapp = new FakeWhatsapp({ clock: this.clock, bring: (one) => this.#bring("whatsapp", one) });
  readonly program = new FakeProgram({ clock: this.clock, bring: (one) => this.#bring("webhook", one) });
  readonly mailbox: string[] = [];
  rookery!: Rookery;
  #token = "";

  async #bring(account: string, request: { body: string; headers: Record<string, string> }): Promise<number> {
    const to = new Request(`http://127.0.0.1/channels/${account}`, { method: "POST", ...request });
    return (await this.rookery.fetch(to)).status;
  }

  async open(heartbeat: string): Promise<void> {
    const { clock, printed } = this;
    await Promise.all([this.telegram.start(), this.whatsapp.start(), this.program.start()]);
    const { token, appSecret, number: phoneNumberId, url, verifyToken: secret } = this.whatsapp;
    const terminal = stdinConnector({
      ...{ input: this.#typed(), user: "owner", lines: true, errors: { write: () => true } },
      output: { write: (text: string) => printed.push(text) },
    });
    terminal.finished.catch(() => undefined);
    this.rookery = await createRookery({
      ...{ home: "memory", clock, connectors: [terminal as Connector, this.#webConnector()] },
      model: scripted(...Array.from({ length: 1_000 }, () => scriptAt(() => clock.now()))),
      config: {
        session: { dmScope: "per-channel-peer" },
        heartbeat: { every: heartbeat },
        commands: { api: true },
        connectors: {
          telegram: { token: this.telegram.token, apiRoot: this.telegram.url, drafts: false },
          whatsapp: { token, appSecret, phoneNumberId, apiRoot: url, webhook: { secret } },
          webhook: { sendUrl: this.program.url, webhook: { secret: this.program.secret } },
        },
        owner: {
          accounts: [`telegram:${TELEGRAM}`, `whatsapp:${WHATSAPP}`, `${WEB_NAME}:${WEB}`, `webhook:${PROGRAM}`],
        },
      },
    });
    await this.telegram.until(() => this.web.isConnected);
    await this.rookery.fetch(new Request("http://127.0.0.1/health"));
    this.#token = readFileSync(join(this.rookery.home, "token"), "utf8").trim();
  }

  async *#typed(): AsyncGenerator<string> {
    for (;;) yield `${await new Promise<string>((resolve) => this.lines.push(resolve))}\n`;
  }

  #webConnector(): Connector {
    const settings = configSchema.parse({ connectors: { [WEB_NAME]: {} } }).connectors[WEB_NAME];
    if (!settings) throw new TypeError("no settings");
    const ports = { clock: this.clock, log: recordingLog([]), store: memoryStore(), ids: seededIds("web") };
    return whatsappWebConnector({ name: WEB_NAME, settings, reveal: () => "", ports, openWeb: this.web.open });
  }

  async ask(path: string, body?: object): Promise<Record<string, unknown>> {
    const request = new Request(`http://127.0.0.1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${this.#token}` },
      body: body && JSON.stringify(body),
    });
    const response = await this.telegram.during(this.rookery.fetch(request));
    const json = (await response.json()) as Record<string, unknown>;
    expect([response.status < 300, JSON.stringify(json)]).toEqual([true, expect.any(String)]);
    return json;
  }

  until(holds: () => boolean, what: string): Promise<void> {
    return this.telegram.until(holds, WAIT_MS).catch((cause) => {
      throw new Error(what, { cause });
    });
  }

  /** Lets time pass, and reads the mailbox as a program does. */
  async pass(seconds: number): Promise<void> {
    const until = this.clock.now() + seconds * 1_000;
    await this.until(() => this.clock.now() >= until, "time stands still");
    const { items } = (await this.ask("/api/deliveries?user=ann&limit=100")) as {
      items: readonly { payload?: { text?: string }; text?: string }[];
    };
    this.mailbox.splice(0, this.mailbox.length, ...items.map((one) => one.payload?.text ?? one.text ?? ""));
  }

  async close(): Promise<void> {
    await this.telegram.during(this.rookery.close());
    await Promise.all([this.telegram.close(), this.whatsapp.close(), this.program.close()]);
  }
}

interface Surface {
  readonly name: string;
  say(text: string): unknown;
  texts(): readonly string[];
}

/** How a person writes on each connector, and what they have read. */
const surfacesOf = (world: World): readonly Surface[] => [
  {
    name: "telegram",
    say: (text) => world.telegram.say(TELEGRAM, text),
    texts: () => world.telegram.textsTo(TELEGRAM),
  },
  {
    name: "whatsapp",
    say: (text) => world.whatsapp.say(WHATSAPP, text),
    texts: () => world.whatsapp.textsTo(WHATSAPP),
  },
  { name: "whatsapp-web", say: (text) => world.web.say(WEB, text, world.clock.now()), texts: () => world.web.texts() },
  {
    name: "webhook",
    say: (text) => world.program.say(PROGRAM, text),
    texts: () => world.program.textsTo(PROGRAM).map(String),
  },
  {
    name: "terminal",
    async say(text) {
      await world.until(() => world.lines.length > 0, "the terminal reads nothing");
      world.lines.shift()?.(text);
    },
    texts: () => world.printed,
  },
  {
    name: "api",
    say: (text) => world.ask("/api/agents/agent:main:api:dm:ann/messages", { text }),
    texts: () => world.mailbox,
  },
];

/** The reminders among texts, with the time at which each was made. */
const remindersIn = (texts: readonly string[]): readonly (readonly [word: string, at: number])[] =>
  texts.flatMap((text) => {
    const [, word, at] = SAID.exec(text) ?? [];
    return word === undefined ? [] : [[word, Number(at)] as const];
  });

/** In the chat itself: three ways, each with a word of its own. */
const IN_CHAT = ["/remind 20s command", "remind me by tool of event", "remind me by turn of turn"];

/** Outside of the chat: the person who made the job is the owner, who gets it where they wrote last. */
const OUTSIDE: readonly object[] = [
  jobFrom({ name: "cli", at: `${SECONDS}s`, "system-event": "Say cli." }),
  jobFrom({ name: "message", at: `${SECONDS}s`, message: "Say message." }),
  asEvent("http"),
  asTurn("page"),
];
const WORDS = ["cli", "command", "event", "http", "message", "page", "turn"];

describe.each(["30m", "0"])("with a heartbeat every %s", (heartbeat) => {
  const world = new World();
  const surfaces = surfacesOf(world);
  beforeAll(() => world.open(heartbeat));
  afterAll(() => world.close());

  it.each(surfaces)("delivers seven reminders to $name at their time, once", async ({ name, say, texts }) => {
    await world.pass(0);
    const before = surfaces.map((one) => one.texts().length);
    // A user of the API is not the owner.
    const outside = name === "api" ? [] : OUTSIDE;
    const words = name === "api" ? ["command", "event", "turn"] : WORDS;
    const from = world.clock.now();
    for (const [count, text] of IN_CHAT.entries()) {
      await say(text);
      // The chat collects what comes during a run.
      if (name === "api") await world.pass(1);
      else await world.until(() => own().length > count, `${name} answers nothing`);
    }
    for (const job of outside) await world.ask("/api/cron", job);
    const asked = world.clock.now();
    for (let n = 0; n < 30 && shown().flat().length < words.length; n++) await world.pass(2);
    await world.pass(10);
    expect(shown()).toEqual(surfaces.map((one) => (one.name === name ? words : [])));
    for (const [word, at] of remindersIn(own())) {
      expect([word, at >= from + SECONDS * 1_000, at <= asked + SECONDS * 1_000 + 2_000]).toEqual([word, true, true]);
    }
    if (process.env.REMINDERS === "print") process.stderr.write(`${name}: ${JSON.stringify(own())}\n`);

    function own(): readonly string[] {
      return texts().slice(before[surfaces.findIndex((one) => one.name === name)]);
    }
    function shown(): readonly (readonly string[])[] {
      return surfaces.map((one, at) =>
        remindersIn(one.texts().slice(before[at]))
          .map(([word]) => word)
          .sort(),
      );
    }
  });
});
