/** The message in a group that says what a run does: shown late, edited seldom, deleted at the end, also after a kill. */
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import { seededIds } from "../../../app/testing/ids.ts";
import { memoryStore } from "../../../app/testing/store.ts";
import { sendRates } from "../chat/send-rates.ts";
import type { BotApi } from "./bot-api.ts";
import { statusMessages } from "./status-messages.ts";

const store = memoryStore();
let accounts = 0;

function world(failing = false) {
  const clock = virtualClock();
  const calls: (readonly [method: string, chat: unknown, what: unknown])[] = [];
  const sent: Record<string, unknown>[] = [];
  let ids = 0;
  const api = {
    async call(method: string, args: Record<string, unknown>) {
      calls.push([method, args.chat_id, method === "deleteMessage" ? args.message_id : args.text]);
      if (method === "sendMessage") sent.push(args);
      return failing ? { status: "refused", code: 403, reason: "no" } : { status: "ok", result: { message_id: ++ids } };
    },
  } as unknown as BotApi;
  const account = `bot-${++accounts}`;
  const rates = sendRates(clock, { perChatMs: 1, groupPerMinute: 100, perSecond: 100, isGroup: () => true });
  const open = (process: string) =>
    statusMessages({
      api,
      rates,
      ports: { clock, store, ids: seededIds(`${account}-${process}`) },
      account,
      warn() {},
    });
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 100)
      await clock.advance(Math.min(left, 100), () => new Promise((resolve) => setImmediate(resolve)));
  };
  const kept = async (): Promise<unknown> => JSON.parse((await store.fact(`telegram.status.${account}`)) ?? "[]");
  const keeps = (expected: unknown) => expect.poll(kept, { timeout: 60_000 }).toEqual(expected);
  return { clock, calls, sent, open, pass, keeps, rates };
}

describe("a status message", () => {
  it("is shown after four seconds, quietly, in its topic, and edited when it has changed", async () => {
    const { open, pass, calls, sent, keeps } = world();
    const one = open("a").open({ chatId: "-1", threadId: 8 });
    one.show("reads");
    await pass(3_900);
    expect(calls).toEqual([]);
    await pass(100);
    expect(calls).toEqual([["sendMessage", "-1", "⏳ reads"]]);
    expect(sent).toEqual([{ chat_id: "-1", message_thread_id: 8, text: "⏳ reads", disable_notification: true }]);
    await keeps([{ chat: "-1", id: 1 }]);
    await pass(6_000);
    one.show("writes");
    one.show("x".repeat(400));
    await pass(6_000);
    expect(calls.slice(1)).toEqual([["editMessageText", "-1", `⏳ ${"x".repeat(298)}`]]);
    one.close();
    await one.quiet();
    expect(calls.at(-1)).toEqual(["deleteMessage", "-1", 1]);
    await keeps([]);
  });

  it("of a run that ends sooner is not shown, and leaves no timer", async () => {
    const { open, pass, calls, clock } = world();
    const one = open("a").open({ chatId: "-1" });
    await pass(3_900);
    one.close();
    expect(clock.timers).toBe(0);
    await pass(20_000);
    expect(calls).toEqual([]);
  });

  it("that the server refuses is not kept and not deleted", async () => {
    const { open, pass, calls, keeps } = world(true);
    const one = open("a").open({ chatId: "-1" });
    await pass(4_000);
    one.close();
    await one.quiet();
    expect(calls.map(([method]) => method)).toEqual(["sendMessage"]);
    await keeps([]);
  });

  it("gives way to the answers of its group", async () => {
    const { open, pass, calls, rates } = world();
    open("a").open({ chatId: "-1" });
    rates.pause(5_000, "-1");
    await pass(4_000);
    expect(calls).toEqual([]);
    await pass(6_000);
    expect(calls).toHaveLength(1);
  });

  it("of one run is deleted, that of another stays", async () => {
    const { open, pass, calls, keeps } = world();
    const messages = open("a");
    const first = messages.open({ chatId: "-1" });
    await pass(4_000);
    messages.open({ chatId: "-1" });
    await pass(500);
    messages.open({ chatId: "-2" });
    await pass(5_000);
    first.close();
    await first.quiet();
    expect(calls.at(-1)).toEqual(["deleteMessage", "-1", 1]);
    await keeps([
      { chat: "-1", id: 2 },
      { chat: "-2", id: 3 },
    ]);
  });

  it("that a killed process has left is deleted by the next one, once", async () => {
    const { open, pass, calls, keeps } = world();
    open("a").open({ chatId: "-1" });
    await pass(4_000);
    await keeps([{ chat: "-1", id: 1 }]);
    await open("b").tidy();
    await open("c").tidy();
    expect(calls.filter(([method]) => method === "deleteMessage")).toEqual([["deleteMessage", "-1", 1]]);
    await keeps([]);
  });
});
