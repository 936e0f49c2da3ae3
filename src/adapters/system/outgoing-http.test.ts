import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { DeniedError, InvalidInputError, ServerUnavailableError, TimeoutError } from "../../core/errors.ts";
import { type OutgoingRequest, outgoingHttp } from "./outgoing-http.ts";
import { AllowedAddresses, isPublicAddress, parseRange } from "./public-address.ts";

describe("isPublicAddress", () => {
  test.each([
    ["8.8.8.8", true],
    ["172.15.0.1", true],
    ["172.32.0.1", true],
    ["2606:4700::1111", true],
    ["0.0.0.0", false],
    ["10.0.0.1", false],
    ["100.64.0.1", false],
    ["127.0.0.1", false],
    ["127.255.255.254", false],
    ["169.254.169.254", false],
    ["172.16.0.1", false],
    ["192.168.1.1", false],
    ["198.18.0.1", false],
    ["224.0.0.1", false],
    ["255.255.255.255", false],
    ["::", false],
    ["::1", false],
    ["::ffff:127.0.0.1", false],
    ["::ffff:8.8.8.8", false],
    ["::127.0.0.1", false],
    ["64:ff9b::7f00:1", false],
    ["2002:7f00:1::", false],
    ["2001:0:7f00:1::", false],
    ["2001:db8::1", false],
    ["fc00::1", false],
    ["fe80::1", false],
    ["ff02::1", false],
    ["localhost", false],
    ["", false],
  ])("%s: %s", (address, expected) => expect(isPublicAddress(address)).toBe(expected));
});

test.each([
  ["10.1.0.0/16", { address: "10.1.0.0", bits: 16, family: "ipv4" }],
  ["10.1.2.3", { address: "10.1.2.3", bits: 32, family: "ipv4" }],
  ["fd00::/8", { address: "fd00::", bits: 8, family: "ipv6" }],
  ["10.1.0.0/33", undefined],
  ["10.1.0.0/", undefined],
  ["10.1.0.0/8/8", undefined],
  ["nas", undefined],
])("the range %s is %j", (text, range) => expect(parseRange(text)).toEqual(range));

let server: Server;
let port = 0;
let seen: { url: string; method: string; headers: IncomingHttpHeaders }[] = [];
beforeAll(async () => {
  server = createServer(({ url = "", method = "", headers }, response) => {
    seen.push({ url, method, headers });
    const to = /^\/to\/(\d+)\/(.*)$/.exec(url);
    if (to) response.writeHead(Number(to[1]), { location: decodeURIComponent(to[2] ?? "") }).end();
    else if (url === "/loop") response.writeHead(302, { location: "/loop" }).end();
    else if (url === "/silent") return;
    else if (url === "/broken") {
      response.writeHead(200, { "content-length": "100" }).write("half");
      setImmediate(() => response.destroy());
    } else if (url === "/endless") {
      const more = (): void => {
        while (response.write("x".repeat(65_536)));
        response.once("drain", more);
      };
      more();
    } else response.end("the secret of this machine");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen = [];
});

const NAMES = new Map([
  ["public.test", ["8.8.8.8"]],
  ["rebind.test", ["127.0.0.1"]],
  ["both.test", ["127.0.0.1", "127.0.0.2"]],
  ["localhost", ["127.0.0.1", "::1"]],
]);

const never = (): AbortSignal => new AbortController().signal;
const client = (allow: readonly string[] = []) => {
  const http = outgoingHttp({
    allowed: () => new AllowedAddresses(allow),
    resolve: async (host) => NAMES.get(host) ?? [],
  });
  return (url: string, rest: Partial<OutgoingRequest> = {}) =>
    http({ url, signal: AbortSignal.timeout(60_000), maxBytes: 1_000, ...rest });
};

describe("a request to an address that is not public", () => {
  const hosts = [
    "127.0.0.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "localhost",
    "rebind.test",
    "nowhere.test",
  ];

  it.each(hosts)("is denied for %s, before anything is sent", async (host) => {
    await expect(client()(`http://${host}:${port}/`)).rejects.toThrow(DeniedError);
    expect(seen).toEqual([]);
  });

  it.each(["127.0.0.1", "127.0.0.0/8", "PORT"])("is made if the owner allows %s", async (entry) => {
    const answer = await client([entry === "PORT" ? `127.0.0.1:${port}` : entry])(`http://127.0.0.1:${port}/x`);
    expect(answer).toMatchObject({ status: 200, cut: false });
    expect(answer.body.toString()).toBe("the secret of this machine");
  });

  it("is denied on another port than the one the owner allows", async () => {
    await expect(client(["127.0.0.1:1"])(`http://127.0.0.1:${port}/`)).rejects.toThrow(DeniedError);
  });

  it("goes to the checked address, whatever the name resolves to later", async () => {
    let times = 0;
    const http = outgoingHttp({
      allowed: () => new AllowedAddresses(["127.0.0.1"]),
      resolve: async () => (times++ === 0 ? ["127.0.0.1"] : ["8.8.8.8"]),
    });
    const answer = await http({
      url: `http://rebind.test:${port}/`,
      signal: AbortSignal.timeout(60_000),
      maxBytes: 10,
    });
    expect(answer.status).toBe(200);
    expect(times).toBe(1);
    expect(seen[0]?.headers.host).toBe(`rebind.test:${port}`);
  });
});

describe("a redirect", () => {
  const to = (where: string, status = 302) => `http://127.0.0.1:${port}/to/${status}/${encodeURIComponent(where)}`;
  const allowed = () => client([`127.0.0.1:${port}`]);

  it("is not followed unless asked", async () => {
    expect(await allowed()(to("/next"))).toMatchObject({ status: 302 });
    expect(seen).toHaveLength(1);
  });

  it("is followed to the end, and the answer names where it came from", async () => {
    const answer = await allowed()(to("/next"), { maxRedirects: 3 });
    expect(answer).toMatchObject({ status: 200, url: `http://127.0.0.1:${port}/next` });
  });

  it.each([
    "http://[::1]:1/",
    "http://169.254.169.254/latest",
    "http://localhost:1/",
    "file:///etc/passwd",
    "http://a:b@8.8.8.8/",
    "http://a@8.8.8.8/",
  ])("to %s is denied", async (where) => {
    await expect(allowed()(to(where), { maxRedirects: 3 })).rejects.toThrow(/not a public|http or https|password/);
    expect(seen).toHaveLength(1);
  });

  it("ends after the allowed number", async () => {
    await expect(allowed()(`http://127.0.0.1:${port}/loop`, { maxRedirects: 4 })).rejects.toThrow(/more than 4 times/);
    expect(seen).toHaveLength(5);
  });

  it("to another origin carries no credentials, and a POST becomes a GET", async () => {
    const other = `http://both.test:${port}/next`;
    const http = client(["127.0.0.1", "both.test"]);
    const headers = { Authorization: "Bearer x", accept: "text/plain" };
    await http(to(other, 303), { maxRedirects: 1, method: "POST", body: "b", headers }).catch(() => {});
    expect(seen[0]).toMatchObject({ method: "POST", headers: { authorization: "Bearer x" } });
    expect(seen[1]).toMatchObject({ method: "GET", headers: { accept: "text/plain" } });
    expect(seen[1]?.headers.authorization).toBeUndefined();
  });

  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [307, "POST", "POST"],
    [308, "POST", "POST"],
    [301, "GET", "GET"],
    [302, "HEAD", "HEAD"],
    [303, "HEAD", "HEAD"],
  ] as const)(
    "with the status %i after %s is a %s, with the body only if it stays a POST",
    async (status, method, next) => {
      const body = method === "POST" ? "four" : undefined;
      await allowed()(to("/next", status), { maxRedirects: 1, method, body });
      expect(seen.map((one) => one.method)).toEqual([method, next]);
      expect(seen[1]?.headers["content-length"]).toBe(next === "POST" ? "4" : undefined);
    },
  );

  it("carries credentials to the same origin only: another port of the same host is another origin", async () => {
    const got: IncomingHttpHeaders[] = [];
    const other = createServer(({ headers }, response) => {
      got.push(headers);
      response.end();
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    try {
      const headers = {
        authorization: "x",
        Cookie: "x",
        "X-Api-Key": "x",
        "proxy-authorization": "x",
        accept: "text/plain",
      };
      const http = client(["127.0.0.1"]);
      await http(to("/next"), { maxRedirects: 1, headers });
      await http(to(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`), { maxRedirects: 1, headers });
      expect(seen[1]?.headers).toMatchObject({ authorization: "x", cookie: "x", "x-api-key": "x" });
      expect(got[0]).toMatchObject({ accept: "text/plain" });
      for (const name of Object.keys(headers))
        if (name !== "accept") expect(got[0]).not.toHaveProperty(name.toLowerCase());
    } finally {
      other.close();
    }
  });
});

it.each([
  [26, false],
  [25, true],
])("an answer of 26 bytes is cut after %i: %s", async (maxBytes, cut) => {
  const answer = await client(["127.0.0.1"])(`http://127.0.0.1:${port}/x`, { maxBytes });
  expect([answer.cut, answer.body.length]).toEqual([cut, maxBytes]);
});

it.each([
  ["http://10.0.0.1/", "10.0.0.1:80"],
  ["https://10.0.0.1/", "10.0.0.1:443"],
  ["https://10.0.0.1:8/", "10.0.0.1:8"],
  ["http://[fd00::1]/", "fd00::1:80"],
])("the hint for %s names %s", async (url, entry) => {
  await expect(client()(url)).rejects.toMatchObject({ hint: expect.stringContaining(`"${entry}"`) });
});

it.each([
  [8_192, "denied"],
  [8_193, "invalid_input"],
])("an address of %i characters is %s", async (length, code) => {
  await expect(client()("http://10.0.0.1/".padEnd(length, "x"))).rejects.toMatchObject({ code });
});

it("cuts an endless answer and says so", async () => {
  const answer = await client(["127.0.0.1"])(`http://127.0.0.1:${port}/endless`, { maxBytes: 100_000 });
  expect(answer).toMatchObject({ status: 200, cut: true });
  expect(answer.body.length).toBe(100_000);
});

describe("a request without an answer says what is wrong and what to do", () => {
  const here = () => client(["127.0.0.1", "both.test", "127.0.0.2"]);

  it("where nobody listens", async () => {
    const [one, both] = await Promise.all(
      ["127.0.0.1", "both.test"].map((host) => here()(`http://${host}:1/`).catch((error: unknown) => error)),
    );
    expect(one).toBeInstanceOf(ServerUnavailableError);
    expect(one).toMatchObject({ message: "127.0.0.1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1." });
    expect(both).toMatchObject({
      message: "both.test cannot be reached: connect ECONNREFUSED 127.0.0.1:1, connect ECONNREFUSED 127.0.0.2:1.",
      hint: "Check the address, or try again later.",
    });
  });

  it("where the name is unknown", async () => {
    const resolve = () => Promise.reject(new Error("getaddrinfo ENOTFOUND nowhere.test"));
    const http = outgoingHttp({ allowed: () => new AllowedAddresses([]), resolve });
    await expect(http({ url: "http://nowhere.test/", signal: never(), maxBytes: 1 })).rejects.toMatchObject({
      ...{ code: "server_unavailable", message: "nowhere.test cannot be reached: getaddrinfo ENOTFOUND nowhere.test." },
    });
  });

  it("where the answer breaks off", async () => {
    await expect(here()(`http://127.0.0.1:${port}/broken`)).rejects.toThrow(ServerUnavailableError);
  });

  it("where a redirect leads nowhere", async () => {
    await expect(
      here()(`http://127.0.0.1:${port}/to/302/${encodeURIComponent("http://[")}`, { maxRedirects: 1 }),
    ).rejects.toThrow(/redirects to an invalid address/);
  });

  it("where it takes too long; an abort by the caller stays an abort", async () => {
    const wait = (signal: AbortSignal) => here()(`http://127.0.0.1:${port}/silent`, { signal });
    const late = await wait(AbortSignal.timeout(1)).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(TimeoutError);
    expect(late).toMatchObject({ message: "127.0.0.1 did not answer in time.", hint: "Try again later." });
    await expect(wait(AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
  });
});

it("never throws anything but an error that says what to do, for any text as an address", async () => {
  const http = outgoingHttp({ allowed: () => ({ allows: () => false }) as never, resolve: async () => ["8.8.8.8"] });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string(),
        fc.webUrl(),
        fc.string().map((text) => `http://${text}`),
      ),
      async (url) => {
        const error = await http({ url, signal: never(), maxBytes: 1_000 }).catch((thrown: unknown) => thrown);
        expect(error instanceof DeniedError || error instanceof InvalidInputError).toBe(true);
      },
    ),
  );
});
