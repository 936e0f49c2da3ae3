/** A bot that is killed and starts again, people with limits, and what an account is told not to use. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeTelegram } from "../../../../test/telegram/fake-telegram.ts";
import { createRookery, type Rookery } from "../../../app/library/create-rookery.ts";
import { virtualClock } from "../../../app/testing/clock.ts";
import { lastText, type ModelCall, type Reply, stall } from "../../../app/testing/model.ts";
import { scripted } from "../../../app/testing/scripted.ts";
import { openDatabase } from "../../store/sqlite/database.ts";

const OWNER = 7;
const clock = virtualClock();
const root = mkdtempSync(join(tmpdir(), "rookery-telegram-life-"));
let fake: FakeTelegram;
let rookery: Rookery;
let calls = 0;
/** The home of the process that runs. */
let current: string;
type Answer = (call: ModelCall) => Reply | Promise<Reply>;
const echo: Answer = ({ request }) => `answer to ${lastText(request)}`;
let script: Answer = echo;

function open(home: string): Promise<Rookery> {
  current = home;
  return createRookery({
    home: join(root, home),
    clock,
    model: scripted(
      ...Array.from({ length: 100 }, () => (call: ModelCall) => {
        calls += 1;
        return script(call);
      }),
    ),
    config: {
      connectors: {
        telegram: { token: "123456:fake-token", apiRoot: fake.url, reactions: false },
      },
      owner: { accounts: [`telegram:${OWNER}`] },
      people: {
        unknown: "guest",
        records: {
          ann: { accounts: ["telegram:42"], limits: { messagesPerDay: 2 } },
          bob: { accounts: ["telegram:43"], limits: { tokensPerDay: 1 } },
        },
      },
    },
  });
}

beforeAll(async () => {
  fake = await new FakeTelegram({ clock }).start();
  rookery = await open("first");
});

afterAll(async () => {
  await fake.during(rookery.close());
  await fake.close();
  rmSync(root, { recursive: true, force: true });
});

describe("an account", () => {
  it("shows in a group that it is typing while a run works", async () => {
    const release = Promise.withResolvers<Reply>();
    script = (call) => stall(call, release.promise, "…");
    fake.sayIn(-300, 41, "@rook_bot think");
    const typing = () => fake.calls.filter(({ method, args }) => method === "sendChatAction" && args.chat_id === -300);
    await fake.until(() => typing().length >= 2);
    expect(typing()[0]?.args).toMatchObject({ action: "typing" });
    script = echo;
    release.resolve("done");
    await fake.until(() => fake.textsTo(-300).includes("done"));
  });
});

describe("a person with limits", () => {
  it("gets no more answers than the messages of a day, and costs no more model calls", async () => {
    for (const n of [1, 2, 3]) {
      fake.say(42, `message ${n}`);
      await fake.until(() => fake.textsTo(42).length === n);
    }
    expect(fake.textsTo(42).slice(0, 2)).toEqual(["answer to message 1", "answer to message 2"]);
    expect(fake.textsTo(42)[2]).not.toContain("answer to");
    expect(fake.textsTo(42)[2]).toMatch(/limit|today|budget/iu);
  });

  it("who has no tokens left costs no model call", async () => {
    const before = calls;
    fake.say(43, "hello");
    await fake.until(() => fake.textsTo(43).length === 1);
    expect(fake.textsTo(43)[0]).not.toContain("answer to");
    expect(calls).toBe(before);
  });
});

describe("after a kill", () => {
  /** The store knows that the status message is shown. */
  const isNoted = (): boolean => {
    const db = openDatabase(join(root, current, "rookery.db"), { readOnly: true });
    try {
      return db.all("SELECT 1 FROM facts WHERE key = 'telegram.status.telegram'").length > 0;
    } finally {
      db.close();
    }
  };

  it("a status message that was left is deleted, the run goes on, and no chat gets two messages in a second", async () => {
    const release = Promise.withResolvers<Reply>();
    script = (call) => stall(call, release.promise, "half");
    fake.sayIn(-400, 41, "@rook_bot slow");
    await fake.until(() => fake.textsTo(-400).length === 1);
    expect(fake.textsTo(-400)[0]).toContain("⏳");
    await fake.until(() => fake.pending === 0 && isNoted());
    // What a killed process leaves: the disk of this moment. It deletes nothing any more.
    cpSync(join(root, "first"), join(root, "second"), { recursive: true });
    fake.fail("deleteMessage", { cut: "before" });
    script = echo;
    release.resolve("from the first process");
    await fake.until(() => fake.textsTo(-400).includes("from the first process"));
    await fake.during(rookery.close());
    expect(fake.textsTo(-400).some((text) => text.includes("⏳"))).toBe(true);
    rookery = await open("second");
    await fake.until(() => fake.textsTo(-400).every((text) => !text.includes("⏳")));
    await fake.until(() => fake.textsTo(-400).some((text) => text.startsWith("answer to")));
    expect(fake.breaches).toEqual([]);
  });

  it("a group that has had its messages of this minute waits for the next one, also in the new process", async () => {
    const parts = (count: number) => Array.from({ length: count }, (_, n) => `${n} `.repeat(1_300)).join("\n\n");
    script = () => parts(12);
    fake.sayIn(-500, 41, "@rook_bot at length");
    await fake.until(() => fake.textsTo(-500).some((text) => text.includes("11 11")));
    const before = fake.textsTo(-500).length;
    expect(before).toBeGreaterThanOrEqual(12);
    cpSync(join(root, current), join(root, "third"), { recursive: true });
    await fake.during(rookery.close());
    rookery = await open("third");
    fake.sayIn(-500, 41, "@rook_bot and again");
    await fake.until(() => fake.textsTo(-500).filter((text) => text.includes("11 11")).length === 2);
    expect(fake.textsTo(-500).length).toBeGreaterThan(20);
    expect(fake.breaches).toEqual([]);
  });
});
