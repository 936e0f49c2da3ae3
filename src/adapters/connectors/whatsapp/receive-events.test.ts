/** Requests of the platform: the check of the address, what is signed, and what comes again because it was not stored. */
import { createHmac } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { type LogLine, recordingLog } from "../../../app/testing/log.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { receiveEvents } from "./receive-events.ts";

const message = (id: string, from = "49") => ({ id, from, timestamp: "10", type: "text", text: { body: id } });
const webhook = (messages: readonly object[], number = "1") =>
  JSON.stringify({
    object: "whatsapp_business_account",
    entry: [{ changes: [{ field: "messages", value: { metadata: { phone_number_id: number }, messages } }] }],
  });
const signed = (body: string, secret = "app-secret") =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** `fails`: the messages whose handling fails, and how. */
function world(fails: Record<string, unknown> = {}) {
  const lines: LogLine[] = [];
  const problems: string[] = [];
  const handled: string[] = [];
  const received = receiveEvents({
    ...{ appSecret: "app-secret", verifyToken: "verify", account: "shop", log: recordingLog(lines) },
    onProblem: (text) => void problems.push(text),
  });
  const handle = async (_: unknown, { id }: { readonly id: string }) => {
    if (id in fails) throw fails[id];
    handled.push(id);
  };
  const common = { account: "shop", query: {} } as const;
  const bring = (body: string, signature: string | undefined = signed(body)) =>
    received.take({ ...common, method: "POST", raw: Buffer.from(body), header: () => signature }, handle);
  const ask = (query: Record<string, string>) =>
    received.take({ ...common, method: "GET", query, raw: Buffer.alloc(0), header: () => undefined }, handle);
  return { received, bring, ask, handled, lines, problems, fails };
}

describe("the check of an address", () => {
  const right = { "hub.mode": "subscribe", "hub.verify_token": "verify", "hub.challenge": "115_8-2" };
  test.each([
    ["what the platform says", {}, { status: 200, text: "115_8-2" }],
    ["another mode", { "hub.mode": "unsubscribe" }, { status: 401 }],
    ["another token", { "hub.verify_token": "guess" }, { status: 401 }],
    ["an empty token", { "hub.verify_token": "" }, { status: 401 }],
    ["no challenge", { "hub.challenge": "" }, { status: 400, text: "no challenge" }],
    ["a page as its challenge", { "hub.challenge": "<script>" }, { status: 400, text: "no challenge" }],
    ["a long challenge", { "hub.challenge": "1".repeat(257) }, { status: 400, text: "no challenge" }],
  ])("with %s", async (_, more, expected) => {
    expect(await world().ask({ ...right, ...more })).toEqual(expected);
  });
});

describe("a webhook", () => {
  test.each([
    ["of another app", signed(webhook([message("a")]), "other")],
    ["of other bytes", signed(webhook([message("b")]))],
    ["of nothing", ""],
  ])("with the signature %s is not taken", async (_, signature) => {
    const { bring, handled } = world();
    expect(await bring(webhook([message("a")]), signature)).toEqual({ status: 401 });
    expect(handled).toEqual([]);
  });

  test.each(["no json", "{}", "null"])(
    "that is signed and says %s is taken: it would be the same again",
    async (body) => {
      const { bring, lines } = world();
      expect(await bring(body)).toEqual({ status: 200 });
      expect(lines).toMatchObject([{ level: "debug", fields: { account: "shop" } }]);
    },
  );

  it("is taken when all of it is stored", async () => {
    const { bring, handled } = world();
    expect(await bring(webhook([message("a"), message("b"), message("c", "48")]))).toEqual({ status: 200 });
    expect(handled.toSorted()).toEqual(["a", "b", "c"]);
  });

  it("comes again if one message is not stored; those behind it in its chat wait, other chats do not", async () => {
    const away = Object.assign(new TypeError("away"), { retryable: true });
    const { bring, handled, problems, fails } = world({ a: away });
    const body = webhook([message("a"), message("b"), message("c", "48")]);
    expect((await bring(body)).status).toBe(503);
    expect([handled, problems]).toEqual([["c"], ["away"]]);
    delete fails.a;
    expect((await bring(body)).status).toBe(200);
    expect(handled.slice(1).toSorted()).toEqual(["a", "b", "c"]);
    expect(handled.indexOf("a")).toBeLessThan(handled.indexOf("b"));
  });

  it("is taken without a message that can never be stored", async () => {
    const { bring, handled, lines } = world({ a: new InvalidInputError("too odd") });
    expect((await bring(webhook([message("a"), message("b")]))).status).toBe(200);
    expect(handled).toEqual(["b"]);
    expect(lines).toMatchObject([{ message: "an update cannot be handled and is skipped", fields: { update: "a" } }]);
  });

  it("waits for an earlier one of the same chat and number only", async () => {
    const { received } = world();
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    const bring = (id: string, number: string) => {
      const body = webhook([message(id)], number);
      const request = { account: "shop", method: "POST", query: {}, raw: Buffer.from(body) } as const;
      return received.take({ ...request, header: () => signed(body) }, async () => {
        if (id === "first") await gate.promise;
        order.push(id);
      });
    };
    const held = [bring("first", "1"), bring("second", "1")];
    await bring("elsewhere", "2");
    gate.resolve();
    await Promise.all(held);
    expect(order).toEqual(["elsewhere", "first", "second"]);
  });
});
