/**
 * The signatures of senders of webhooks. All but `body` sign a timestamp with the body, so that a call that someone has seen
 * cannot be sent again later. `standard` also signs an id, which stays the same when the sender tries again.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

interface SignatureRule {
  readonly scheme: "body" | "rookery" | "stripe" | "slack" | "standard";
  readonly secret: string;
  /** Of `body`: the header with the signature in hex, which may begin with the algorithm as `sha256=`. */
  readonly header: string;
  readonly algorithm: string;
}

export interface SignedRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** What the sender vouches for. */
export interface SignedCall {
  /** The same for the same call, and for no other one of this secret. */
  readonly signature: string;
  /** When it was signed, in milliseconds. */
  readonly at?: number;
  /** Of the call, if the sender signs one. */
  readonly id?: string;
}

/** A sender that changes its secret signs with both; more than this are not looked at. */
const MAX_SIGNATURES = 8;

/** Undefined if the signature is missing or wrong. The caller decides whether its time is near enough. */
export function checkSignature(rule: SignatureRule, { headers, body }: SignedRequest): SignedCall | undefined {
  const { secret } = rule;
  const header = (name: string): string => (headers[name] ?? "").trim();
  switch (rule.scheme) {
    case "body": {
      const right = createHmac(rule.algorithm, secret).update(body).digest("hex");
      const given = header(rule.header.toLowerCase());
      const prefix = `${rule.algorithm}=`;
      const signature = given.startsWith(prefix) ? given.slice(prefix.length) : given;
      return sameText(signature.toLowerCase(), right) ? { signature: right } : undefined;
    }
    case "rookery": {
      const at = header("x-rookery-timestamp");
      return timed(at, [header("x-rookery-signature")], `v1=${hex(secret, `${at}.${body}`)}`);
    }
    case "stripe": {
      const parts = header("stripe-signature").split(",", MAX_SIGNATURES + 1);
      const at = parts.find((part) => part.startsWith("t="))?.slice("t=".length) ?? "";
      return timed(at, parts, `v1=${hex(secret, `${at}.${body}`)}`);
    }
    case "slack": {
      const at = header("x-slack-request-timestamp");
      return timed(at, [header("x-slack-signature")], `v0=${hex(secret, `v0:${at}:${body}`)}`);
    }
    case "standard": {
      const [id, at] = [header("webhook-id"), header("webhook-timestamp")];
      const right = createHmac("sha256", standardKey(secret)).update(`${id}.${at}.${body}`).digest("base64");
      const call = timed(at, header("webhook-signature").split(" ", MAX_SIGNATURES), `v1,${right}`);
      return id === "" || !call ? undefined : { ...call, id };
    }
  }
}

function timed(at: string, given: readonly string[], right: string): SignedCall | undefined {
  // All are compared, so that the time it takes says nothing.
  const isRight = given.map((one) => sameText(one.trim(), right)).includes(true);
  return isRight && /^\d{1,12}$/.test(at) ? { signature: right, at: Number(at) * 1_000 } : undefined;
}

const hex = (secret: string, text: string): string => createHmac("sha256", secret).update(text).digest("hex");

/** Senders show it in base64, with a prefix. */
const standardKey = (secret: string): Buffer =>
  secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : Buffer.from(secret);

/** Compares in constant time. */
export function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
