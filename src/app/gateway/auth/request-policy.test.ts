import type { IncomingMessage } from "node:http";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assertSecureBind,
  checkRequest,
  clientAddress,
  isLoopback,
  type RequestPolicy,
  tokenInUrl,
} from "./request-policy.ts";
import { freshToken } from "./token.ts";

const POLICY: RequestPolicy = {
  host: "127.0.0.1",
  allowedHosts: ["laptop.example.org"],
  allowedOrigins: ["https://laptop.example.org"],
  trustedProxies: [],
  proxiesOnly: false,
  secure: false,
  bodyBytes: 100,
};

const incoming = (
  headers: Record<string, string>,
  more: { url?: string; method?: string; peer?: string; local?: string } = {},
): IncomingMessage =>
  ({
    method: more.method ?? "GET",
    url: more.url ?? "/x",
    headers,
    rawHeaders: Object.entries(headers).flat(),
    socket: { remoteAddress: more.peer ?? "127.0.0.1", localAddress: more.local ?? "127.0.0.1" },
  }) as unknown as IncomingMessage;

const code = (headers: Record<string, string>, policy: Partial<RequestPolicy> = {}, more = {}): string | undefined =>
  checkRequest(incoming({ host: "127.0.0.1:7717", ...headers }, more), { ...POLICY, ...policy })?.code;

/** With escapes that are not valid UTF-8. */
const PATHS = fc.stringMatching(/^(\/([\w.~!$&'()*+,;=:@-]|%[0-9A-F]{2}){0,6}){0,4}$/);

describe("the request policy", () => {
  it.each([
    ["127.0.0.1", undefined],
    ["localhost:7717", undefined],
    ["LOCALHOST", undefined],
    ["[::1]:7717", undefined],
    ["laptop.example.org", undefined],
    ["evil.example", "foreign_host"],
    ["127.0.0.1.evil.example", "foreign_host"],
    ["localhost.evil.example", "foreign_host"],
    ["192.168.1.1", "foreign_host"],
    ["", "bad_host"],
    ["a b", "bad_host"],
    ["user@127.0.0.1", "bad_host"],
  ])("for the Host %s returns %s", (host, expected) => {
    expect(code({ host })).toBe(expected);
  });

  it("accepts the address the client connected to, and localhost only on a loopback connection", () => {
    const reached = { local: "10.1.2.3", peer: "10.9.9.9" };
    expect(code({ host: "10.1.2.3" }, { host: "0.0.0.0", secure: true }, reached)).toBeUndefined();
    expect(code({ host: "localhost" }, { host: "0.0.0.0", secure: true }, reached)).toBe("foreign_host");
  });

  it.each([
    ["http://127.0.0.1:7717", undefined],
    ["https://laptop.example.org", undefined],
    ["https://127.0.0.1:7717", "foreign_origin"],
    ["http://127.0.0.1:1", "foreign_origin"],
    ["https://laptop.example.org.evil.example", "foreign_origin"],
    ["null", "foreign_origin"],
    ["", "foreign_origin"],
  ])("for the Origin %s returns %s", (origin, expected) => {
    expect(code({ origin })).toBe(expected);
  });

  it("trusts forwarded headers of a configured proxy only", () => {
    const proxy = {
      trustedProxies: ["10.0.0.2"],
      proxiesOnly: true,
      host: "0.0.0.0",
      allowedHosts: ["laptop.example.org"],
    };
    const headers = { host: "laptop.example.org", "x-forwarded-for": "6.6.6.6, 8.8.8.8", "x-forwarded-proto": "https" };
    expect(code(headers, proxy, { peer: "10.0.0.2", local: "10.0.0.1" })).toBeUndefined();
    expect(
      code(
        { ...headers, origin: "https://laptop.example.org" },
        { ...proxy, allowedOrigins: [] },
        { peer: "::ffff:10.0.0.2" },
      ),
    ).toBeUndefined();
    expect(code(headers, proxy, { peer: "10.0.0.3", local: "10.0.0.1" })).toBe("not_a_proxy");
    expect(clientAddress(incoming(headers, { peer: "10.0.0.2" }), { ...POLICY, ...proxy })).toBe("8.8.8.8");
    expect(clientAddress(incoming(headers, { peer: "10.0.0.3" }), { ...POLICY, ...proxy })).toBe("10.0.0.3");
    expect(
      clientAddress(incoming({ "x-forwarded-for": "nonsense" }, { peer: "10.0.0.2" }), { ...POLICY, ...proxy }),
    ).toBe("10.0.0.2");
  });

  it("refuses long URLs, large bodies and repeated headers", () => {
    expect(code({ "content-length": "101" })).toBe("body_too_large");
    expect(code({}, {}, { url: `/${"x".repeat(9_000)}` })).toBe("url_too_long");
    expect(code({}, {}, { url: "http://other.example/" })).toBe("bad_url");
    const twice = incoming({ host: "127.0.0.1" });
    twice.rawHeaders.push("Host", "evil.example");
    expect(checkRequest(twice, POLICY)?.code).toBe("repeated_header");
  });

  it.each([
    ["a body at the limit", { "content-length": "100" }, "/x", undefined],
    ["a body of unknown size", {}, "/x", undefined],
    ["a URL at the limit", {}, `/${"x".repeat(8_191)}`, undefined],
    ["a URL over the limit", {}, `/${"x".repeat(8_192)}`, "url_too_long"],
    ["no URL", {}, "", "bad_url"],
  ])("for %s returns %s", (_, headers, url, expected) => {
    expect(code(headers as Record<string, string>, {}, { url })).toBe(expected);
  });

  it.each(["host", "origin", "authorization", "Authorization"])("refuses a second %s", (name) => {
    const twice = incoming({ host: "127.0.0.1:7717", origin: "http://127.0.0.1:7717", authorization: "Bearer x" });
    twice.rawHeaders.push("accept", "a", "accept", "b");
    expect(checkRequest(twice, POLICY)).toBeUndefined();
    twice.rawHeaders.push(name, "x");
    expect(checkRequest(twice, POLICY)?.code).toBe("repeated_header");
  });

  it.each([
    ["no Host", undefined, "bad_host"],
    ["a port that is too long", "127.0.0.1:777777", "bad_host"],
    ["the name of the public URL", "rookery.test", undefined],
    ["the name of the public URL with a port", "rookery.test:8443", undefined],
    ["an allowed name in another case", "Laptop.Example.Org", undefined],
  ])("for %s returns %s", (_, host, expected) => {
    const policy = { ...POLICY, allowedHosts: ["LAPTOP.example.org"], publicUrl: new URL("https://rookery.test") };
    const headers: Record<string, string> = host === undefined ? {} : { host };
    expect(checkRequest(incoming(headers), policy)?.code).toBe(expected);
  });

  it.each([
    ["an IPv6 address it listens on", "[fd00::1]:7717", { host: "::" }, { local: "fd00::1" }],
    ["the configured IPv6 address", "[FD00::2]", { host: "fd00::2" }, { local: "10.0.0.1" }],
    ["an IPv4 address on an IPv6 socket", "10.1.2.3", { host: "::" }, { local: "::ffff:10.1.2.3" }],
    ["the configured name", "Box", { host: "BOX" }, { local: "10.0.0.1" }],
  ])("accepts as Host %s", (_, host, policy, more) => {
    expect(code({ host }, { ...policy, secure: true }, more)).toBeUndefined();
    expect(code({ host: "other" }, { ...policy, secure: true }, more)).toBe("foreign_host");
  });

  it.each([
    ["the same site", "same-origin", undefined],
    ["a person who typed the address", "none", undefined],
    ["another site", "cross-site", "foreign_origin"],
    ["another host of this site", "same-site", "foreign_origin"],
  ])("for a request without an Origin from %s returns %s", (_, site, expected) => {
    expect(code({ "sec-fetch-site": site })).toBe(expected);
  });

  const PAGE = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  it.each([
    ["/", {}, "GET", undefined],
    ["/", {}, "POST", "foreign_origin"],
    ["/api/agents", {}, "GET", "foreign_origin"],
    ["/api/invitation", {}, "GET", "foreign_origin"],
    ["/", { "sec-fetch-mode": "no-cors" }, "GET", "foreign_origin"],
    ["/", { "sec-fetch-dest": "iframe" }, "GET", "foreign_origin"],
  ])("for a link to %s on another site, %j, %s, returns %s", (url, more, method, expected) => {
    expect(code({ "sec-fetch-site": "cross-site", ...PAGE, ...more }, {}, { url, method })).toBe(expected);
  });

  it("lets only this machine and the proxies connect if it has no TLS on another address", () => {
    const policy = { host: "0.0.0.0", proxiesOnly: true, trustedProxies: ["10.0.0.2"] };
    const from = (peer: string) => code({ host: "127.0.0.1" }, policy, { peer });
    expect(["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.2"].map(from)).toEqual(Array(4).fill(undefined));
    expect(["10.0.0.3", "::2", ""].map(from)).toEqual(Array(3).fill("not_a_proxy"));
  });

  it.each([
    ["127.0.0.1", true],
    ["127.9.9.9", true],
    ["localhost", true],
    ["::1", true],
    ["127.evil.example", false],
    ["128.0.0.1", false],
    ["10.127.0.1", false],
    ["::", false],
    ["", false],
  ])("takes %s for this machine: %s", (address, expected) => {
    expect(isLoopback(address)).toBe(expected);
  });

  it("finds a token in any URL, also percent-encoded and in a malformed URL, and never throws", () => {
    fc.assert(
      fc.property(PATHS, fc.stringMatching(/^[a-z]{1,8}$/), (path, name) => {
        const { text } = freshToken();
        expect(tokenInUrl(`${path}?${name}=${text}`)).toBe(true);
        expect(
          tokenInUrl(`${path}?${name}=${[...text].map((one) => `%${one.charCodeAt(0).toString(16)}`).join("")}`),
        ).toBe(true);
      }),
    );
    fc.assert(fc.property(fc.string(), (url) => typeof tokenInUrl(url) === "boolean"));
    expect(tokenInUrl("/api/agents?limit=3&after=x")).toBe(false);
  });
});

describe("listening on other addresses than loopback", () => {
  it("needs TLS or a configured proxy", () => {
    for (const host of ["0.0.0.0", "::", "192.168.1.2", "laptop.example.org"]) {
      expect(() => assertSecureBind(host, false, [])).toThrow(/without TLS/);
      assertSecureBind(host, true, []);
      assertSecureBind(host, false, ["10.0.0.2"]);
    }
    for (const host of ["127.0.0.1", "localhost", "::1", "127.0.0.2"]) assertSecureBind(host, false, []);
  });
});
