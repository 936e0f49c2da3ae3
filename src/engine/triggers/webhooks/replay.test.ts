/** Signed calls that an attacker has seen, and what the schemes of senders protect. */
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parseConfig } from "../../../config/parse-config.ts";
import { TriggerTestEngine } from "../triggers.test-kit.ts";
import type { HookRequest } from "./accept-hook.ts";
import { checkSignature } from "./check-signature.ts";

const SECRET = "s3cret";
const hmac = (text: string, key: string | Buffer = SECRET) => createHmac("sha256", key).update(text);
const open = (scheme: string, more = "") => {
  const text = `{ hooks: { deploy: { hmac: { secret: "${SECRET}", scheme: "${scheme}" ${more} } }, other: { hmac: { secret: "${SECRET}", scheme: "${scheme}" } } } }`;
  const { hooks } = parseConfig({ text, file: "rookery.json5", env: {} }).config;
  return TriggerTestEngine.open({ settings: { hooks } });
};

type Signer = (body: string, seconds: number, id: string) => Record<string, string>;
const SCHEMES = ["body", "rookery", "stripe", "slack", "standard"] as const;
const SIGN: Readonly<Record<(typeof SCHEMES)[number], Signer>> = {
  body: (body) => ({ "x-signature": hmac(body).digest("hex") }),
  rookery: (body, at) => ({
    "x-rookery-timestamp": String(at),
    "x-rookery-signature": `v1=${hmac(`${at}.${body}`).digest("hex")}`,
  }),
  stripe: (body, at) => ({ "stripe-signature": `t=${at},v0=old,v1=${hmac(`${at}.${body}`).digest("hex")}` }),
  slack: (body, at) => ({
    "x-slack-request-timestamp": String(at),
    "x-slack-signature": `v0=${hmac(`v0:${at}:${body}`).digest("hex")}`,
  }),
  standard: (body, at, id) => ({
    "webhook-id": id,
    "webhook-timestamp": String(at),
    "webhook-signature": `v1,AAAA v1,${hmac(`${id}.${at}.${body}`).digest("base64")}`,
  }),
};
const TIMED = SCHEMES.filter((scheme) => scheme !== "body");
const body = `{"n":1}`;

const runs = async (world: TriggerTestEngine): Promise<number> => {
  await world.engine.settle();
  return world.engine.requests.length;
};

describe.each(SCHEMES.map((scheme) => [scheme] as const))("a call signed as %s", (scheme) => {
  const signed = (world: TriggerTestEngine, text = body, shiftSeconds = 0, id = "msg_1"): HookRequest => ({
    headers: SIGN[scheme](text, Math.floor(world.engine.clock.now() / 1_000) + shiftSeconds, id),
    body: text,
  });
  const withKey = ({ headers, body: text }: HookRequest, key: string): HookRequest => ({
    headers: { ...headers, "idempotency-key": key },
    body: text,
  });

  it("is accepted once, under any key, without one, and after a restart", async () => {
    const world = await open(scheme);
    const call = signed(world);
    const first = await world.hook("deploy", withKey(call, "k1"));
    expect(first).toMatchObject({ status: 202, isRepeated: false });
    for (const again of [withKey(call, "k2"), call, withKey(call, "k1"), withKey(call, "k3")]) {
      expect(await world.hook("deploy", again)).toMatchObject({ status: 202, body: first.body, isRepeated: true });
    }
    await world.restart();
    expect(await world.hook("deploy", withKey(call, "k4"))).toMatchObject({ status: 202, isRepeated: true });
    expect(await runs(world)).toBe(1);
    // The first call had no key.
    const unkeyed = signed(world, `{"n":2}`, 0, "msg_2");
    await world.hook("deploy", unkeyed);
    expect(await world.hook("deploy", withKey(unkeyed, "k5"))).toMatchObject({ status: 202, isRepeated: true });
    // Another call, and another hook with the same secret.
    expect(await world.hook("deploy", signed(world, `{"n":3}`, 0, "msg_3"))).toMatchObject({ isRepeated: false });
    expect(await world.hook("other", call)).toMatchObject({ status: 202, isRepeated: false });
    expect(await runs(world)).toBe(4);
  });

  it("takes effect once if many copies come at the same moment", async () => {
    const world = await open(scheme);
    const call = signed(world);
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, n) => world.hook("deploy", withKey(call, `k${n}`))),
    );
    expect(new Set(answers.map((answer) => JSON.stringify([answer.status, answer.body]))).size).toBe(1);
    expect(await runs(world)).toBe(1);
  });

  it("is refused if one sign of it is changed", async () => {
    const world = await open(scheme);
    const { headers } = signed(world);
    for (const [name, value = ""] of Object.entries(headers)) {
      const changed = { ...headers, [name]: `${value.slice(0, -3)}${value.endsWith("000") ? "111" : "000"}` };
      expect((await world.hook("deploy", { headers: changed, body })).status, name).toBe(401);
      const { [name]: _, ...without } = headers;
      expect((await world.hook("deploy", { headers: without, body })).status, name).toBe(401);
    }
    expect((await world.hook("deploy", { headers, body: `${body} ` })).status).toBe(401);
    expect(await runs(world)).toBe(0);
  });
});

describe.each(TIMED.map((scheme) => [scheme] as const))("the timestamp of %s", (scheme) => {
  it.each([
    [0, 202],
    [-299, 202],
    [299, 202],
    [-302, 401],
    [302, 401],
  ])("%i seconds from now is answered %i", async (shift, status) => {
    const world = await open(scheme);
    const at = Math.floor(world.engine.clock.now() / 1_000) + shift;
    const answer = await world.hook("deploy", { headers: SIGN[scheme](body, at, "m"), body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    if (status === 401) expect(answer.body).toMatchObject({ error: expect.stringContaining("clock") });
  });

  it("is one that the sender signed: an old call stays old, and is not accepted when it is forgotten", async () => {
    const world = await open(scheme);
    const at = Math.floor(world.engine.clock.now() / 1_000) + 290;
    const call = { headers: SIGN[scheme](body, at, "m"), body };
    await world.hook("deploy", call);
    // As long as its time is accepted it is remembered.
    await world.engine.advance(580_000);
    expect(await world.hook("deploy", { ...call, headers: { ...call.headers, "idempotency-key": "z" } })).toMatchObject(
      { status: 202, isRepeated: true },
    );
    await world.engine.advance(60_000);
    expect((await world.hook("deploy", call)).status).toBe(401);
  });
});

test("a retry with a new time and the same key is the same call", async () => {
  const world = await open("rookery");
  const call = async (shift: number) => {
    const at = Math.floor(world.engine.clock.now() / 1_000) + shift;
    return world.hook("deploy", { headers: { ...SIGN.rookery(body, at, ""), "idempotency-key": "k" }, body });
  };
  expect(await call(0)).toMatchObject({ status: 202, isRepeated: false });
  expect(await call(1)).toMatchObject({ status: 202, isRepeated: true });
  expect(await runs(world)).toBe(1);
});

test("a retry of a Standard Webhook has the same id and a new time, and is the same call", async () => {
  const world = await open("standard");
  const at = Math.floor(world.engine.clock.now() / 1_000);
  await world.hook("deploy", { headers: SIGN.standard(body, at, "msg_1"), body });
  expect(await world.hook("deploy", { headers: SIGN.standard(body, at + 9, "msg_1"), body })).toMatchObject({
    isRepeated: true,
  });
  expect(await runs(world)).toBe(1);
});

test("a sender without timestamps may say the same again after the time that the configuration sets", async () => {
  const world = await open("body", ", toleranceSeconds: 60");
  const call = { headers: SIGN.body(body, 0, ""), body };
  await world.hook("deploy", call);
  await world.engine.advance(59_000);
  expect(await world.hook("deploy", call)).toMatchObject({ isRepeated: true });
  await world.engine.advance(2_000);
  expect(await world.hook("deploy", call)).toMatchObject({ isRepeated: false });
});

test("the secret of a Standard Webhook may be written as its senders show it", () => {
  const key = Buffer.from("0123456789abcdef01234567");
  const signature = hmac(`m.1.${body}`, key).digest("base64");
  const headers = { "webhook-id": "m", "webhook-timestamp": "1", "webhook-signature": `v1,${signature}` };
  const rule = {
    scheme: "standard",
    header: "",
    algorithm: "sha256",
    secret: `whsec_${key.toString("base64")}`,
  } as const;
  expect(checkSignature(rule, { headers, body })).toMatchObject({ at: 1_000, id: "m" });
});

test("a check never fails on any headers, and takes none of them", () => {
  const text = fc.oneof(fc.string({ maxLength: 60 }), fc.constantFrom("t=1,v1=", "v1,", "v0=00", "9".repeat(40)));
  const names = Object.values(SIGN).flatMap((sign) => Object.keys(sign(body, 1, "m")));
  fc.assert(
    fc.property(fc.constantFrom(...SCHEMES), fc.dictionary(fc.constantFrom(...names), text), (scheme, headers) => {
      const rule = { scheme, header: "x-signature", algorithm: "sha256", secret: SECRET } as const;
      expect(checkSignature(rule, { headers, body })).toBeUndefined();
    }),
  );
});
