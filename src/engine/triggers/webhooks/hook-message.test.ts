/** What a call of a webhook posts: its recipient, text, key and address; and the answer to each result and error. */
import { createHash, createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import { ConflictError, InvalidInputError, StoreFullError, TooLargeError } from "../../../core/errors.ts";
import { DEFAULT_REPLAY_HORIZON_MS } from "../../../core/ports/connector.ts";
import type { PostRequest } from "../../agents/message-ingress.ts";
import { acceptHook, type HookRequest } from "./accept-hook.ts";

const NOW = 5_000_000;
const SECRET = "s3cret";
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const TOKEN = { token: "open" };
const HMAC = { hmac: { secret: SECRET, scheme: "rookery", toleranceSeconds: 300, header: "x", algorithm: "sha256" } };
const STANDARD = { hmac: { ...HMAC.hmac, scheme: "standard" } };
const BEARER = { authorization: "Bearer open" };
const signed = (body: string, at = NOW / 1_000) => ({
  "x-rookery-timestamp": String(at),
  "x-rookery-signature": `v1=${createHmac("sha256", SECRET).update(`${at}.${body}`).digest("hex")}`,
});
const standard = (body: string, id: string, at = NOW / 1_000) => ({
  "webhook-id": id,
  "webhook-timestamp": String(at),
  "webhook-signature": `v1,${createHmac("sha256", SECRET).update(`${id}.${at}.${body}`).digest("base64")}`,
});
const POSTED = { status: "accepted", agentId: "a", seq: 7, duplicate: false };

interface World {
  readonly answers?: object | Error;
  readonly rows?: Readonly<Record<string, object>>;
  readonly mainKey?: string;
}

async function call(
  hook: object,
  { headers, body }: HookRequest,
  { answers = POSTED, rows = {}, mainKey }: World = {},
) {
  const posts: PostRequest[] = [];
  const lines: LogLine[] = [];
  const ports = {
    clock: { now: () => NOW },
    store: { request: async (key: string) => rows[key.startsWith("hook-seen:") ? "seen" : key] as never },
    people: { addressOfConversation: async (key: string) => ({ to: `route of ${key}` }) },
    log: recordingLog(lines),
    reveal: (secret: string) => secret,
    post: async (request: PostRequest) => {
      posts.push(request);
      if (answers instanceof Error) throw answers;
      return answers;
    },
  };
  const hooks = { w: { target: "isolated", ...hook } };
  const answer = await acceptHook(ports as never, hooks as never, "w", { headers, body }, { mainKey });
  return { answer, posts, lines, post: posts[0] as PostRequest };
}
const textOf = (post: PostRequest): string => (post.body as { text: string }).text;

describe("the recipient of a call", () => {
  test.each([
    ["an agent of the hook", {}, { descriptor: { type: "cron", id: "hook:w", name: "w" }, profile: "main" }],
    [
      "an agent of the hook, of its profile",
      { profile: "work" },
      { descriptor: { type: "cron", id: "hook:w", name: "w" }, profile: "work" },
    ],
    ["the main conversation", { target: "main" }, { sessionKey: "agent:main:home", profile: "main" }],
    [
      "the main conversation of a profile",
      { target: "main", profile: "work" },
      { sessionKey: "agent:work:home", profile: "work" },
    ],
  ])("is %s", async (_what, more, to) => {
    const { post } = await call({ ...TOKEN, ...more }, { headers: BEARER, body: "{}" }, { mainKey: "home" });
    expect(post.to).toMatchObject(to);
    expect(post.behalf).toEqual({ person: "owner", untrusted: true });
    expect(post.body).toMatchObject({ kind: "trigger", trigger: { type: "webhook", id: "w" } });
  });

  test.each([
    ["nowhere", {}, undefined],
    ["to the main conversation that it is part of", { target: "main" }, { to: "route of agent:main:home" }],
    ["to the last one", { deliver: "last" }, { to: "route of agent:main:home" }],
    ["to the last one of a profile", { deliver: "last", profile: "work" }, { to: "route of agent:work:home" }],
    ["to an address", { deliver: "telegram:42" }, { channel: "telegram", to: "42" }],
    ["to an address, from the main conversation", { target: "main", deliver: "t:4" }, { channel: "t", to: "4" }],
  ])("answers %s", async (_what, more, delivery) => {
    const { post } = await call({ ...TOKEN, ...more }, { headers: BEARER, body: "{}" }, { mainKey: "home" });
    expect(post.delivery).toEqual(delivery);
  });
});

describe("the text of a call", () => {
  test.each([
    [undefined, "plain", "[webhook:w] plain"],
    [undefined, `{"a":1}`, '[webhook:w] {\n  "a": 1\n}'],
    ["{{a}} of {{name}}", `{"a":1}`, "[webhook:w] 1 of w"],
    ["fixed", "", "[webhook:w] fixed"],
  ])("with the prompt %j and the body %j", async (prompt, body, text) => {
    const { post } = await call({ ...TOKEN, prompt }, { headers: BEARER, body });
    expect(textOf(post)).toBe(text);
  });

  test("is cut after 32000 characters", async () => {
    const long = async (count: number) =>
      textOf((await call(TOKEN, { headers: BEARER, body: "x".repeat(count) })).post);
    const start = "[webhook:w] ".length;
    expect(await long(32_000 - start)).toHaveLength(32_000);
    expect(await long(32_001 - start)).toBe(`${await long(32_000 - start)}…`);
  });
});

describe("the key of a call", () => {
  const keyed = async (headers: Record<string, string>, hook: object = TOKEN) => {
    const { post, answer } = await call(hook, { headers: { ...BEARER, ...headers }, body: "{}" });
    return answer.status === 202 ? (post.body as { trigger: { slot?: string } }).trigger.slot : answer.status;
  };
  const own = { ...TOKEN, idempotencyHeader: "X-Delivery" };

  test.each([
    ["none", TOKEN, {}, undefined],
    ["the usual header", TOKEN, { "idempotency-key": " k " }, "k"],
    ["an empty header", TOKEN, { "idempotency-key": "  " }, undefined],
    ["the header of another hook", TOKEN, { "x-delivery": "d" }, undefined],
    ["the hook's own header", own, { "x-delivery": " d " }, "d"],
    ["both headers", own, { "x-delivery": "d", "idempotency-key": "k" }, "d"],
    ["its own header, which is empty", own, { "x-delivery": " ", "idempotency-key": "k" }, "k"],
    ["200 characters", TOKEN, { "idempotency-key": "k".repeat(200) }, "k".repeat(200)],
    ["201 characters", TOKEN, { "idempotency-key": "k".repeat(201) }, 400],
    ["a signed id, before a header", STANDARD, { ...standard("{}", "m1"), "idempotency-key": "k" }, "m1"],
    ["a signed id that is too long", STANDARD, standard("{}", "m".repeat(201)), 400],
  ])("comes from %s", async (_what, hook, headers, expected) => {
    expect(await keyed(headers as never, hook)).toBe(expected);
  });

  test("is kept for the horizon of replays, with what the call says", async () => {
    const { post } = await call(TOKEN, { headers: { ...BEARER, "idempotency-key": "k" }, body: "{}" });
    const keepUntil = NOW + DEFAULT_REPLAY_HORIZON_MS;
    expect(post.request).toEqual({ by: "key", key: "hook:w:k", digest: sha256("{}"), keepUntil });
    expect(post.first).toBeUndefined();
  });

  test("is not needed: a call with only a token is new each time", async () => {
    const { post } = await call(TOKEN, { headers: BEARER, body: "{}" });
    expect([post.request, post.first]).toEqual([undefined, undefined]);
  });
});

describe("a signed call", () => {
  const keepUntil = NOW + 300_001;
  const seen = (post: PostRequest) => post.first?.[0] as unknown as { op: string; request: object; reply: string };

  test("without a key is known by its signature as long as that is accepted", async () => {
    const { post } = await call(HMAC, { headers: signed("{}"), body: "{}" });
    const { op, request, reply } = seen(post);
    const key = expect.stringMatching(/^hook-seen:[0-9a-f]{64}$/);
    expect([op, request]).toEqual(["request.put", { by: "key", key, digest: sha256("{}"), keepUntil }]);
    expect(post.request).toEqual({
      by: "key",
      key: expect.stringMatching(/^signed:hook-seen:/),
      digest: sha256("{}"),
      keepUntil,
    });
    expect(JSON.parse(reply)).toEqual({ entry: post.request?.key });
    expect(post.first).toHaveLength(1);
  });

  test("with a key is known by both", async () => {
    const { post } = await call(HMAC, { headers: { ...signed("{}"), "idempotency-key": "k" }, body: "{}" });
    expect(post.request).toMatchObject({ key: "hook:w:k", keepUntil: NOW + DEFAULT_REPLAY_HORIZON_MS });
    expect(JSON.parse(seen(post).reply)).toEqual({ entry: "hook:w:k" });
  });

  const again = { headers: { ...signed("{}"), "idempotency-key": "k2" }, body: "{}" };
  const conflict = new ConflictError("seen");
  const row = { reply: JSON.stringify({ entry: "hook:w:k1" }), keepUntil: NOW + 1 };
  const message = { agentId: "b", seq: 3 };

  test("that was seen with another key is answered as that call was", async () => {
    const { answer } = await call(HMAC, again, { answers: conflict, rows: { seen: row, "hook:w:k1": { message } } });
    expect(answer).toEqual({ status: 202, body: { ok: true, messageId: "b/3" }, isRepeated: true });
  });

  test.each([
    ["is not remembered", {}],
    ["is remembered without a reply", { seen: { keepUntil: NOW + 1 }, "hook:w:k1": { message } }],
    ["is remembered no longer", { seen: { ...row, keepUntil: NOW }, "hook:w:k1": { message } }],
    ["names an entry that is gone", { seen: row }],
    ["names an entry without a message", { seen: row, "hook:w:k1": {} }],
  ])("whose key is taken and that %s is refused", async (_what, rows) => {
    expect((await call(HMAC, again, { answers: conflict, rows })).answer.status).toBe(422);
  });

  test("is no excuse for another error, and an unsigned call is never looked up", async () => {
    const rows = { seen: row, "hook:w:k1": { message } };
    expect((await call(HMAC, again, { answers: new StoreFullError("full"), rows })).answer.status).toBe(503);
    const unsigned = { headers: { ...BEARER, "idempotency-key": "k" }, body: "{}" };
    expect((await call(TOKEN, unsigned, { answers: conflict, rows })).answer.status).toBe(422);
  });

  test("must have the token too if the hook has one", async () => {
    const both = { ...TOKEN, ...HMAC };
    const status = async (headers: Record<string, string>) => (await call(both, { headers, body: "{}" })).answer.status;
    expect(await status({ ...signed("{}"), ...BEARER })).toBe(202);
    expect(await status(signed("{}"))).toBe(401);
    expect(await status(BEARER)).toBe(401);
  });
});

describe("the answer", () => {
  const request = { headers: BEARER, body: "{}" };
  const answered = async (answers: object | Error) => call(TOKEN, request, { answers });

  test("names the message, and says whether the call came before", async () => {
    const body = { ok: true, messageId: "a/7" };
    expect((await answered(POSTED)).answer).toEqual({ status: 202, body, isRepeated: false });
    const repeated = { ...POSTED, status: "duplicate", duplicate: true };
    expect((await answered(repeated)).answer).toEqual({ status: 202, body, isRepeated: true });
  });

  test.each([
    ["a call that is too old", { status: "stale" }, 400, "This call is too old."],
    ["a key of another body", new ConflictError("x"), 422, "The same key was used for another body."],
    ["a text that is too long", new TooLargeError("Too long."), 413, "Too long."],
    ["a full store", new StoreFullError("full"), 503, "Try again later."],
    ["a wrong configuration", new InvalidInputError("No such profile."), 503, "No such profile."],
    ["a defect", new TypeError("oops"), 503, "Try again later."],
  ])("to %s", async (_what, answers, status, error) => {
    const { answer, lines } = await answered(answers);
    expect(answer).toEqual({ status, body: { error } });
    expect(lines).toHaveLength(status === 503 ? 1 : 0);
    if (status === 503) expect(lines[0]).toMatchObject({ level: "warn", fields: { hook: "w" } });
  });

  test("to a body that is too large counts its bytes, before anything else", async () => {
    const status = async (body: string) => (await call(TOKEN, { headers: BEARER, body })).answer.status;
    expect(await status("x".repeat(262_144))).toBe(202);
    expect(await status("x".repeat(262_145))).toBe(413);
    expect(await status("é".repeat(131_073))).toBe(413);
    const { answer, posts } = await call(TOKEN, { headers: {}, body: "x".repeat(262_145) });
    expect([answer.status, posts]).toEqual([413, []]);
  });
});
