/** Which requests count as encrypted and as sent by a page of this server, and the policy that a configuration gives. */
import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { configSchema } from "../../../config/config-schema.ts";
import {
  clientAddress,
  controlPolicy,
  isSameOrigin,
  largestBody,
  type RequestPolicy,
  requestPolicy,
} from "./request-policy.ts";

const POLICY: RequestPolicy = {
  host: "127.0.0.1",
  allowedHosts: [],
  allowedOrigins: ["https://laptop.example.org"],
  trustedProxies: [],
  proxiesOnly: false,
  secure: false,
  bodyBytes: 100,
};

const incoming = (headers: object, { peer = "127.0.0.1" } = {}): IncomingMessage =>
  ({ headers, socket: { remoteAddress: peer } }) as unknown as IncomingMessage;

describe("the origin of a request", () => {
  const PUBLIC = new URL("https://rookery.test");
  const PROXY = { trustedProxies: ["10.0.0.2"] };
  const https = { "x-forwarded-proto": "https" };

  it.each<[string, Record<string, string>, Partial<RequestPolicy>, string | undefined, boolean]>([
    ["TLS of this server", {}, { secure: true }, undefined, true],
    ["a trusted proxy with TLS", https, PROXY, "10.0.0.2", true],
    ["a trusted proxy without TLS", { "x-forwarded-proto": "http" }, PROXY, "10.0.0.2", false],
    ["another peer that says so", https, PROXY, "10.0.0.3", false],
    ["the public URL", { host: "Rookery.test" }, { publicUrl: PUBLIC }, undefined, true],
    ["another host beside the public URL", { host: "127.0.0.1" }, { publicUrl: PUBLIC }, undefined, false],
    [
      "a public URL without TLS",
      { host: "rookery.test" },
      { publicUrl: new URL("http://rookery.test") },
      undefined,
      false,
    ],
    ["nothing", { host: "127.0.0.1" }, {}, undefined, false],
  ])("is encrypted with %s: %s", (_, headers, policy, peer, expected) => {
    const host = headers.host ?? "a.test";
    const request = incoming({ ...headers, host, origin: `https://${host}` }, { peer });
    expect(isSameOrigin(request, { ...POLICY, ...policy })).toBe(expected);
  });

  it.each<[string, Record<string, string>, Partial<RequestPolicy>, boolean]>([
    ["no Origin", { host: "a.test" }, {}, false],
    ["its own", { host: "a.test", origin: "http://A.test" }, {}, true],
    ["its own with another scheme", { host: "a.test", origin: "https://a.test" }, {}, false],
    ["its own over TLS", { host: "a.test", origin: "https://a.test" }, { secure: true }, true],
    ["the public one", { host: "127.0.0.1", origin: "https://rookery.test" }, { publicUrl: PUBLIC }, true],
    [
      "an allowed one, which is a page of another server",
      { host: "a.test", origin: "https://laptop.example.org" },
      {},
      false,
    ],
  ])("is this server's with %s: %s", (_, headers, policy, expected) => {
    expect(isSameOrigin(incoming(headers), { ...POLICY, ...policy })).toBe(expected);
  });

  it("counts the last address that a proxy appends, in one header or several", () => {
    const policy = { ...POLICY, ...PROXY };
    const several = incoming({ "x-forwarded-for": ["6.6.6.6", "7.7.7.7, 8.8.8.8 "] }, { peer: "10.0.0.2" });
    expect(clientAddress(several, policy)).toBe("8.8.8.8");
    expect(clientAddress(incoming({}, { peer: "10.0.0.2" }), policy)).toBe("10.0.0.2");
    expect(clientAddress(incoming({ "x-forwarded-for": "fd00::9" }, { peer: "::ffff:10.0.0.2" }), policy)).toBe(
      "fd00::9",
    );
  });
});

describe("the policy of the configuration", () => {
  const config = configSchema.parse({
    gateway: { limits: { bodyBytes: 2_000 }, publicUrl: "https://rookery.test", trustedProxies: ["10.0.0.2"] },
    files: { maxBytes: 1_000 },
  });

  it.each([
    ["127.0.0.1", false, false],
    ["0.0.0.0", false, true],
    ["0.0.0.0", true, false],
  ])("on %s with TLS %s lets only proxies connect: %s", (host, secure, proxiesOnly) => {
    expect(requestPolicy(config, host, secure)).toMatchObject({ host, secure, proxiesOnly, bodyBytes: 3_334 });
    expect(requestPolicy(config, host, secure)).toMatchObject({ trustedProxies: ["10.0.0.2"] });
    expect(requestPolicy(config, host, secure).publicUrl?.origin).toBe("https://rookery.test");
  });

  it("has room for the largest file in base64, and trusts no proxy on the control socket", () => {
    expect(largestBody(config)).toBe(2_000 + 1_334);
    const control = controlPolicy(config);
    expect(control).toMatchObject({ trustedProxies: [], allowedHosts: [], allowedOrigins: [], bodyBytes: 3_334 });
    expect(control.publicUrl).toBeUndefined();
  });
});
