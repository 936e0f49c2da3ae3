import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { apiMailbox, OWNER_MAILBOX, personAddress } from "../../../core/delivery/route.ts";
import { ConfigError } from "../../../core/errors.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import { httpPost } from "../../system/http-post.ts";
import { signatureOf } from "./signed-post.ts";
import { type WebhookTarget, webhookConnector } from "./webhook-connector.ts";

const NOW = 1_750_000_000_000;
type Answer = (
  request: IncomingMessage,
  body: string,
) => { status: number; headers?: Record<string, string>; body?: string } | "cut";

let server: Server;
let base = "";
let answer: Answer;
let requests: { headers: IncomingMessage["headers"]; body: string }[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      requests.push({ headers: request.headers, body });
      const said = answer(request, body);
      if (said === "cut") request.socket.destroy();
      else response.writeHead(said.status, said.headers).end(said.body ?? "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  requests = [];
  answer = () => ({ status: 204 });
});

const target = (rest: Partial<WebhookTarget> = {}): WebhookTarget => ({
  url: `${base}/hook`,
  secret: () => "s3cret",
  users: ["ann"],
  owner: false,
  profiles: [],
  ...rest,
});
const connector = (targets: Record<string, WebhookTarget>) =>
  webhookConnector({ clock: { now: () => NOW }, post: httpPost, targets: () => new Map(Object.entries(targets)) });
const to = { channel: "webhook", accountId: "shop", to: "ann" };
const send = (rest: Partial<WebhookTarget> = {}, id = "run.0") =>
  connector({ shop: target(rest) }).send(
    { id: id as DeliveryId, target: to, payload: { text: "Ready.", slot: { jobId: "j", slot: "s" } } },
    AbortSignal.timeout(60_000),
  );

describe("a webhook", () => {
  it("sends the delivery with its id, a timestamp and a signature over both that the receiver can check", async () => {
    expect(await send()).toEqual({ status: "sent" });
    const [{ headers, body } = { headers: {}, body: "" }] = requests;
    expect(JSON.parse(body)).toEqual({ id: "run.0", to: "ann", text: "Ready." });
    expect(headers["x-rookery-timestamp"]).toBe("1750000000");
    expect(headers["x-rookery-signature"]).toBe(`v1=${signatureOf("s3cret", 1_750_000_000, body)}`);
    expect(headers["idempotency-key"]).toBe("run.0");
    expect(JSON.stringify(requests)).not.toContain("s3cret");
  });

  test.each<[number, Record<string, string>, object]>([
    [200, {}, { status: "sent" }],
    [302, { location: "http://127.0.0.1:1/" }, { status: "refused", reason: "answered 302" }],
    [400, {}, { status: "refused", reason: "answered 400" }],
    [410, {}, { status: "refused", reason: "answered 410" }],
    [429, { "retry-after": "7" }, { status: "retry", afterMs: 7_000 }],
    [429, { "retry-after": new Date(NOW + 5_000).toUTCString() }, { status: "retry", afterMs: 5_000 }],
    [429, { "retry-after": "soon" }, { status: "retry", afterMs: undefined }],
    [429, { "retry-after": "999999999" }, { status: "retry", afterMs: 3_600_000 }],
    [429, { "retry-after": new Date(NOW - 5_000).toUTCString() }, { status: "retry", afterMs: 0 }],
    [429, { "retry-after": "0" }, { status: "retry", afterMs: 0 }],
    [429, { "retry-after": "3601" }, { status: "retry", afterMs: 3_600_000 }],
    [429, {}, { status: "retry", afterMs: undefined }],
    [408, {}, { status: "retry", reason: "answered 408" }],
    [409, {}, { status: "retry", reason: "answered 409" }],
    [423, {}, { status: "retry", reason: "answered 423" }],
    [425, {}, { status: "retry", reason: "answered 425" }],
    [299, {}, { status: "sent" }],
    [300, {}, { status: "refused", reason: "answered 300" }],
    [499, {}, { status: "refused", reason: "answered 499" }],
    [500, {}, { status: "unknown", reason: "answered 500" }],
    [599, {}, { status: "unknown", reason: "answered 599" }],
  ])("answered %i with %j is %j", async (status, headers, expected) => {
    answer = () => ({ status, headers });
    expect(await send()).toMatchObject(expected);
    expect(requests).toHaveLength(1);
  });

  it("that is cut after it has arrived may have it; one that cannot be reached does not", async () => {
    answer = () => "cut";
    expect(await send()).toMatchObject({ status: "unknown" });
    expect(await send({ url: "http://127.0.0.1:1/" })).toMatchObject({ status: "retry" });
    const missing = () => {
      throw new ConfigError("A secret is missing.");
    };
    expect(await send({ secret: missing })).toMatchObject({
      status: "retry",
      reason: expect.stringContaining("secret"),
    });
  });

  test.each([
    ["  no room\n", "answered 400: no room"],
    ["x".repeat(5_000), `answered 400: ${"x".repeat(200)}`],
  ])("is quoted with the beginning of what it says", async (body, reason) => {
    answer = () => ({ status: 400, body });
    expect(await send()).toEqual({ status: "refused", reason });
  });

  it("that answers without end is not read without end", async () => {
    answer = () => ({ status: 200, body: "x".repeat(10_000_000) });
    expect(await send()).toMatchObject({ status: "unknown" });
  });

  it("that is no longer in the configuration keeps its deliveries", async () => {
    const delivery = { id: "r.0" as DeliveryId, target: to, payload: { text: "x" } };
    expect(await connector({}).send(delivery, AbortSignal.timeout(60_000))).toMatchObject({ status: "retry" });
  });
});

describe("a delivery goes to a webhook", () => {
  const shop = { users: ["ann"] };
  const mine = { users: [], owner: true };
  const sales = { users: [], profiles: ["sales"] };
  const token = { channel: "api", accountId: "t1", to: "t1" };
  test.each([
    ["of its user", shop, apiMailbox("ann"), "main", "ann"],
    ["of its user without a known route", shop, personAddress("api:ann"), "main", "ann"],
    ["not of another user", shop, apiMailbox("bob"), "main", undefined],
    ["not of a user who is called owner", mine, apiMailbox("owner"), "main", undefined],
    ["of the owner", mine, OWNER_MAILBOX, "main", "owner"],
    ["of the owner without a known route", mine, personAddress("owner"), "main", "owner"],
    ["not of a terminal, where somebody sits", mine, { channel: "terminal", to: "owner" }, "main", undefined],
    ["of its profile", sales, apiMailbox("bob"), "sales", "bob"],
    ["not of another profile", sales, apiMailbox("bob"), "main", undefined],
    ["not of a person on a channel", shop, { channel: "telegram", to: "ann" }, "main", undefined],
    ["not of a token's own mailbox", shop, token, "main", undefined],
  ])("%s", (_, rest, address, profile, expected) => {
    const taken = connector({ shop: target(rest) }).takesOver?.(address, profile);
    expect(taken).toEqual(expected === undefined ? undefined : { channel: "webhook", accountId: "shop", to: expected });
  });
});
