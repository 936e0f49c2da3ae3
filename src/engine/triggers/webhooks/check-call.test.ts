/** Which calls of a webhook are allowed: by their token, by their signature, and how many signatures are looked at. */
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { checkSignature } from "./check-signature.ts";
import { checkCall, seenOf } from "./seen-calls.ts";

const NOW = 1_000_000;
const SECRET = "s3cret";
const rule = (scheme: string) => ({ scheme, secret: SECRET, header: "X-Signature", algorithm: "sha256" }) as never;
const hmacRule = { ...(rule("rookery") as object), toleranceSeconds: 300 };
const hex = (text: string) => createHmac("sha256", SECRET).update(text).digest("hex");
const rookery = (at: number | string) => ({
  "x-rookery-timestamp": String(at),
  "x-rookery-signature": `v1=${hex(`${at}.{}`)}`,
});

describe("a call", () => {
  const status = (hook: object, headers: Record<string, string>, reveal: unknown = (secret: string) => secret) =>
    checkCall({ reveal, clock: { now: () => NOW } } as never, hook as never, { headers, body: "{}" }).status;
  const bearer = (token: string) => ({ authorization: token });

  test("of a hook without a token and without a signature is refused", () => {
    expect(status({}, {})).toBe("refused");
    expect(status({}, bearer("Bearer x"))).toBe("refused");
  });

  test("is refused where no secret can be read", () => {
    const hook = { token: "t" };
    expect(
      checkCall({ clock: { now: () => NOW } } as never, hook as never, { headers: bearer("Bearer t"), body: "" })
        .status,
    ).toBe("refused");
  });

  test.each([
    ["Bearer t", "allowed"],
    ["bearer  t ", "allowed"],
    ["Bearer x", "refused"],
    ["t", "refused"],
    ["Basic t", "refused"],
    ["", "refused"],
  ])("with the authorization %j is %s", (given, expected) => {
    expect(status({ token: "t" }, bearer(given))).toBe(expected);
    if (given === "") expect(status({ token: "t" }, {})).toBe(expected);
  });

  test("needs the token and the signature if the hook has both", () => {
    const both = { token: "t", hmac: hmacRule };
    expect(status(both, { ...rookery(1_000), ...bearer("Bearer t") })).toBe("allowed");
    expect(status(both, rookery(1_000))).toBe("refused");
    expect(status(both, bearer("Bearer t"))).toBe("refused");
  });

  test.each([
    [700, "allowed"],
    [699, "refused"],
    [1_300, "allowed"],
    [1_301, "refused"],
  ])("signed at second %d, on a clock of second 1000, is %s", (at, expected) => {
    expect(status({ hmac: hmacRule }, rookery(at))).toBe(expected);
  });

  test("that was seen is kept one moment longer than its time is accepted", () => {
    const hook = { hmac: { toleranceSeconds: 300 } } as never;
    expect(seenOf("w", hook, { signature: "s", at: NOW - 5 }, NOW).keepUntil).toBe(NOW - 5 + 300_001);
    expect(seenOf("w", hook, { signature: "s" }, NOW).keepUntil).toBe(NOW + 300_001);
    expect(seenOf("w", {} as never, { signature: "s" }, NOW).keepUntil).toBe(NOW + 1);
    const key = (name: string, id: string | undefined, signature: string) =>
      seenOf(name, hook, { signature, id }, NOW).key;
    expect(
      new Set([
        key("w", "1", "s"),
        key("x", "1", "s"),
        key("w", "2", "s"),
        key("w", "1", "t"),
        key("w", undefined, "s"),
      ]).size,
    ).toBe(5);
    expect(key("w", undefined, "s")).toBe(key("w", "", "s"));
  });
});

describe("of several signatures", () => {
  const stripe = (before: number) => {
    const others = Array.from({ length: before }, (_none, n) => `v1=${n}`);
    const headers = { "stripe-signature": ["t=5", ...others, `v1=${hex("5.{}")}`].join(",") };
    return checkSignature(rule("stripe"), { headers, body: "{}" });
  };
  const standard = (before: number) => {
    const right = createHmac("sha256", SECRET).update("m.5.{}").digest("base64");
    const given = [...Array.from({ length: before }, (_none, n) => `v1,${n}`), `v1,${right}`].join(" ");
    const headers = { "webhook-id": "m", "webhook-timestamp": "5", "webhook-signature": given };
    return checkSignature(rule("standard"), { headers, body: "{}" });
  };

  test.each([
    ["stripe", stripe],
    ["standard", standard],
  ])("as %s sends them one of the first eight must be right", (_scheme, check) => {
    expect(check(0)).toMatchObject({ at: 5_000 });
    expect(check(7)).toMatchObject({ at: 5_000 });
    expect(check(8)).toBeUndefined();
  });
});

test.each([
  [hex("{}"), true],
  [` ${hex("{}").toUpperCase()} `, true],
  [`sha256=${hex("{}")}`, true],
  [`sha256=${hex("[]")}`, false],
  [`sha512=${hex("{}")}`, false],
  [`sha256=sha256=${hex("{}")}`, false],
  ["", false],
])("checks the signature %j of a body, with or without its algorithm: %s", (given, isRight) => {
  const own = rule("body");
  const call = checkSignature(own, { headers: { "x-signature": given }, body: "{}" });
  expect(call).toEqual(isRight ? { signature: hex("{}") } : undefined);
  expect(checkSignature(own, { headers: {}, body: "{}" })).toBeUndefined();
});
