import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../../core/ports/tool.ts";
import type { OutgoingAnswer } from "../../system/outgoing-http.ts";
import { pageCache } from "./page-cache.ts";
import { plainText } from "./plain-text.ts";
import { hostEffects, webFetchTool } from "./web-fetch-tool.ts";

/** Answers each address with a status and headers; everything else is a plain text. */
function world(answers: Readonly<Record<string, [number, Record<string, string>, string?]>> = {}) {
  const asked: string[] = [];
  const clock = { at: 0, now: () => clock.at };
  const tool = webFetchTool({
    clock,
    search: () => undefined,
    http: async ({ url }: { url: string }) => {
      asked.push(url);
      const [status, headers, body = ""] = answers[url] ?? [200, { "content-type": "text/plain" }, `text of ${url}`];
      return { status, headers, url, body: Buffer.from(body), cut: false } as unknown as OutgoingAnswer;
    },
  } as never);
  const fetch = async (url: string, offset?: number) => {
    const { content, untrusted } = await tool.execute({ url, offset }, {
      signal: new AbortController().signal,
    } as ToolContext);
    return { text: content.map((block) => (block.type === "text" ? block.text : "")).join(""), untrusted };
  };
  return { asked, clock, fetch };
}

describe("a redirect", () => {
  it.each<[string, string, string, boolean]>([
    ["to another path", "http://a.org/x", "/y", true],
    ["to a better protocol", "http://a.org/x", "https://a.org/x", true],
    ["to www", "https://a.org/", "https://www.a.org/", true],
    ["from www", "https://www.a.org/", "https://a.org/", true],
    ["on the same port", "http://a.org:8080/", "http://a.org:8080/y", true],
    ["to a worse protocol", "https://a.org/x", "http://a.org/x", false],
    ["to another host", "http://a.org/", "http://b.org/", false],
    ["to a host below it", "http://a.org/", "http://x.a.org/", false],
    ["to a host above it", "http://x.a.org/", "http://a.org/", false],
    ["to a host with the same end", "http://a.org/", "http://evil-a.org/", false],
    ["to a host with the same beginning", "http://a.org/", "http://a.org.evil.example/", false],
    ["to a name before an at sign", "http://a.org/", "http://a.org@evil.example/", false],
    ["to another port", "http://a.org/", "http://a.org:8080/", false],
    ["without a protocol to another host", "http://a.org/", "//evil.example/", false],
    ["to a file", "http://a.org/", "file:///etc/passwd", false],
  ])("%s is followed only on the same site", async (_, from, to, isFollowed) => {
    const { asked, fetch } = world({ [from]: [302, { location: to }] });
    const next = new URL(to, from).href;
    if (isFollowed) {
      expect((await fetch(from)).text).toBe(`${next}\n\ntext of ${next}`);
      expect(asked).toEqual([from, next]);
    } else {
      await expect(fetch(from)).rejects.toThrow(`${from} leads to another host: ${next}`);
      expect(asked).toEqual([from]);
    }
  });

  it.each([301, 302, 303, 307, 308])("may have the status %i", async (status) => {
    const { asked, fetch } = world({ "http://a.org/": [status, { location: "/y" }] });
    await fetch("http://a.org/");
    expect(asked).toEqual(["http://a.org/", "http://a.org/y"]);
  });

  it.each<[string, [number, Record<string, string>]]>([
    ["without an address", [302, {}]],
    ["of another kind", [304, { location: "/y" }]],
    ["that is no redirect", [300, { location: "/y" }]],
  ])("%s is a failure", async (_, answer) => {
    await expect(world({ "http://a.org/": answer }).fetch("http://a.org/")).rejects.toThrow(`answered ${answer[0]}`);
  });

  it("is followed five times", async () => {
    const chain = (length: number) =>
      Object.fromEntries(
        Array.from({ length }, (_, n) => [`http://a.org/${n}`, [302, { location: `/${n + 1}` }] as [number, object]]),
      ) as Parameters<typeof world>[0];
    expect((await world(chain(5)).fetch("http://a.org/0")).text).toContain("text of http://a.org/5");
    await expect(world(chain(6)).fetch("http://a.org/0")).rejects.toThrow("redirects more than 5 times");
  });
});

describe("a page", () => {
  it("is marked with the host that it came from, and shown in parts", async () => {
    const long = "x".repeat(20_001);
    const { fetch, asked } = world({ "http://a.org/": [200, { "content-type": "text/plain" }, long] });
    const first = await fetch("http://a.org/");
    expect(first.untrusted).toEqual({ from: "web:a.org" });
    expect(first.text).toContain("[characters 0 to 20000 of 20001]");
    expect((await fetch("http://a.org/", 20_000)).text).toBe("http://a.org/\n\nx");
    expect((await fetch("http://a.org/", 2 ** 52)).text).toBe("http://a.org/\n\n");
    expect(asked).toHaveLength(1);
  });

  it("is kept for a quarter of an hour by its address, and failures are not", async () => {
    const { fetch, asked, clock } = world({ "http://a.org/bad": [500, {}] });
    await fetch("http://a.org/");
    clock.at = 15 * 60_000 - 1;
    await fetch("http://a.org/");
    expect(asked).toHaveLength(1);
    clock.at += 1;
    await fetch("http://a.org/");
    await fetch("http://a.org/?other");
    expect(asked).toHaveLength(3);
    for (let n = 0; n < 2; n++) await expect(fetch("http://a.org/bad")).rejects.toThrow("answered 500");
    expect(asked).toHaveLength(5);
  });

  it("is text by its type only", async () => {
    const of = (type: string, body: string) => world({ "http://a.org/": [200, { "content-type": type }, body] });
    for (const type of ["text/csv", "application/json", "application/ld+json", "image/svg+xml", "TEXT/PLAIN"])
      expect((await of(type, "a").fetch("http://a.org/")).text).toContain("\n\na");
    for (const type of ["application/octet-stream", "image/png", "video/mp4", "application/x-text/"])
      await expect(of(type, "a").fetch("http://a.org/")).rejects.toThrow("which is not text");
    expect((await of("text/plain; charset=nonsense", "é").fetch("http://a.org/")).text).toContain("é");
  });
});

it.each<[string, object | undefined]>([
  ["https://Example.ORG/x", { kind: "host", host: "example.org", port: undefined }],
  ["https://example.org:443/", { kind: "host", host: "example.org", port: undefined }],
  ["http://example.org:443/", { kind: "host", host: "example.org", port: 443 }],
  ["http://user@evil.example/example.org", { kind: "host", host: "evil.example", port: undefined }],
  ["http://2130706433/", { kind: "host", host: "127.0.0.1", port: undefined }],
  ["http://ｅxample.org/", { kind: "host", host: "example.org", port: undefined }],
  ["nothing", undefined],
])("names the host of %s to the gate as it will be asked", (url, detail) => {
  expect(hostEffects("web_fetch", url)).toEqual(detail ? [{ action: "web_fetch", rights: ["network"], detail }] : []);
});

it("keeps the fifty pages that were set last", () => {
  const cache = pageCache({ now: () => 0 });
  const page = { url: "", title: "", text: "" };
  for (let n = 0; n < 50; n++) cache.set(`p${n}`, page);
  cache.set("p0", page);
  cache.set("p50", page);
  expect(["p0", "p1", "p2", "p50"].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true, true]);
});

it.each([
  ["a<script>x</script>b", "ab"],
  ["a<SCRIPT src=y>x</SCRIPT >b", "ab"],
  ["a<script>x", "a"],
  ["a<!-- > x -->b", "ab"],
  ["a<!-- x", "a"],
  ["a<b>c</b>d", "acd"],
  ["a<p>b</p>c", "a\nb\nc"],
  ["a < b", "a"],
  ["&#72;&#x48;&unknown;&#0;&#1114112;&nbsp;&LT;", "H&#x48;&unknown;&#0;&#1114112; <"],
  ["&#55296;", "\ufffd"],
  ["<svg><text>x</text></svg>y<style>z</style>", "y"],
])("makes plain text of %j", (html, text) => {
  expect(plainText(html)).toBe(text);
});
