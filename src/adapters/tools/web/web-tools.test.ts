import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Tool, ToolContext } from "../../../core/ports/tool.ts";
import { outgoingHttp } from "../../system/outgoing-http.ts";
import { AllowedAddresses } from "../../system/public-address.ts";
import { pageText } from "./page-text.ts";
import { plainText } from "./plain-text.ts";
import type { WebDeps } from "./web-deps.ts";
import { webSearch } from "./web-search.ts";
import { webTools } from "./web-tools.ts";

let asked: { readonly url: string; readonly headers: IncomingMessage["headers"]; readonly body: string }[] = [];
let reply: (request: IncomingMessage, response: ServerResponse) => void;
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  asked.push({ url: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString() });
  reply(request, response);
});
let base: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
});

const html =
  (body: string, status = 200, headers: Readonly<Record<string, string>> = {}) =>
  (_: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, { "content-type": "text/html; charset=utf-8", ...headers });
    response.end(body);
  };

function toolsOf(options: Partial<Parameters<typeof outgoingHttp>[0]> = {}, more: Partial<WebDeps> = {}) {
  const http = outgoingHttp({ allowed: () => new AllowedAddresses(["127.0.0.1"]), ...options });
  const tools = webTools({ http, clock: { now: () => 0 }, search: () => undefined, ...more });
  return async (name: string, input: Record<string, unknown>) => {
    const tool = tools.find((one) => one.name === name) as Tool;
    const context = { signal: new AbortController().signal } as ToolContext;
    const { content, untrusted } = await tool.execute(tool.input.parse(input), context);
    return { text: content.map((block) => (block.type === "text" ? block.text : "")).join(""), untrusted };
  };
}

const PAGE = `<!doctype html><html><head><title>A page</title><style>p{}</style></head><body><nav>menu</nav><article><h1>Heading</h1>
${"<p>A paragraph with enough words to be an article, and more of them.</p>".repeat(8)}
<p>See <a href="/next">the next one</a> and <a href="javascript:alert(1)">this</a>.</p>
<p style="display:none">HIDDEN-STYLE</p><p hidden>HIDDEN-ATTRIBUTE</p><p style="font-size: 0">HIDDEN-SIZE</p><div aria-hidden="true">HIDDEN-ARIA</div>
<p style="position:absolute; left:-9999px">HIDDEN-PLACE</p><!-- HIDDEN-COMMENT --><script>HIDDEN-SCRIPT</script><template>HIDDEN-TEMPLATE</template>
<img src="data:image/png;base64,HIDDENDATA" alt="x"></article></body></html>`;

describe("web_fetch", () => {
  it("shows a page as text: title, headings, links, and nothing that people do not see", async () => {
    reply = html(PAGE);
    const { text, untrusted } = await toolsOf()("web_fetch", { url: `${base}/page` });
    expect(text).toMatch(/^# A page\nhttp/);
    expect(text).toContain("A paragraph with enough words");
    expect(text).toContain(`[the next one](${base}/next)`);
    expect(text).not.toMatch(/HIDDEN|javascript/);
    expect(untrusted).toEqual({ from: `web:${base.slice("http://".length)}` });
  });

  it("asks once for a page that it has shown before", async () => {
    reply = html(PAGE);
    const call = toolsOf();
    await call("web_fetch", { url: `${base}/page` });
    const { text } = await call("web_fetch", { url: `${base}/page`, offset: 10 });
    expect(asked).toHaveLength(1);
    expect(text).toContain("A paragraph");
  });

  it("cuts a page at a megabyte, and shows a part of a long text", async () => {
    reply = (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      response.end("word ".repeat(400_000));
    };
    const { text } = await toolsOf()("web_fetch", { url: `${base}/long` });
    expect(text).toContain("[characters 0 to 20000 of 1000053]");
  });

  it("denies addresses of this machine and of private networks, whatever they are called", async () => {
    reply = html(PAGE);
    const none = { allowed: () => new AllowedAddresses([]) };
    for (const url of [
      base,
      base.replace("127.0.0.1", "localhost"),
      base.replace("127.0.0.1", "[::1]"),
      "http://2130706433/",
      "http://169.254.169.254/latest/meta-data",
    ]) {
      await expect(toolsOf(none)("web_fetch", { url })).rejects.toThrow("is not a public address");
    }
    const rebound = { ...none, resolve: async () => ["10.0.0.1"] };
    await expect(toolsOf(rebound)("web_fetch", { url: "http://public.example/" })).rejects.toThrow(
      "not a public address",
    );
    for (const url of ["file:///etc/passwd", "ftp://example.org/", "http://user:password@example.org/", "nothing"]) {
      await expect(toolsOf(none)("web_fetch", { url })).rejects.toThrow();
    }
    expect(asked).toEqual([]);
  });

  it("does not follow a redirect to another host: each host is judged by the gate", async () => {
    reply = html("", 302, { location: "http://169.254.169.254/latest/meta-data" });
    await expect(toolsOf()("web_fetch", { url: `${base}/out` })).rejects.toThrow(
      `${base}/out leads to another host: http://169.254.169.254/latest/meta-data`,
    );
    reply = ({ url }, response) => {
      if (url === "/a") html("", 301, { location: "/b" })({} as never, response);
      else html(PAGE)({} as never, response);
    };
    expect((await toolsOf()("web_fetch", { url: `${base}/a` })).text).toContain(`${base}/b`);
    reply = html("", 302, { location: "/again" });
    await expect(toolsOf()("web_fetch", { url: `${base}/again` })).rejects.toThrow("more than 5 times");
  });

  it("denies a name that leads to a private address at the second request of a redirect", async () => {
    let resolved = 0;
    const { port } = server.address() as AddressInfo;
    reply = html("", 302, { location: "/b" });
    const allowed = () =>
      ({ allows: (_: string, __: string, address: string) => address === "127.0.0.1" }) as unknown as AllowedAddresses;
    const resolve = async () => (++resolved === 1 ? ["127.0.0.1"] : ["10.0.0.1"]);
    const call = toolsOf({ allowed, resolve });
    await expect(call("web_fetch", { url: `http://rebinds.example:${port}/a` })).rejects.toThrow(
      "not a public address",
    );
    expect(asked).toHaveLength(1);
  });

  it("says what is wrong with an answer that is no page", async () => {
    reply = html("", 404);
    await expect(toolsOf()("web_fetch", { url: base })).rejects.toThrow("answered 404");
    reply = html("x", 200, { "content-type": "application/zip" });
    await expect(toolsOf()("web_fetch", { url: base })).rejects.toThrow("application/zip, which is not text");
  });

  it("names the host to the gate", async () => {
    const [fetch] = webTools({ search: () => undefined } as unknown as WebDeps);
    expect(await fetch?.effects?.({ url: "https://Example.org:8443/x?y" }, {} as never)).toEqual([
      { action: "web_fetch", rights: ["network"], detail: { kind: "host", host: "example.org", port: 8443 } },
    ]);
  });
});

it("falls back to plain text if a page takes too long to read", async () => {
  const { text, isPlain } = await pageText(PAGE, "http://a.example/", 1);
  expect(isPlain).toBe(true);
  expect(text).toContain("A paragraph with enough words");
  expect(text).not.toMatch(/HIDDEN-(?:SCRIPT|COMMENT|TEMPLATE)|<p/);
});

it("makes plain text in a time that grows with the length only", () => {
  const began = process.cpuUsage().user;
  for (const part of ["<", "<!--", "<p", "&#", "<script>", "</", " \n"])
    plainText(part.repeat(1_000_000 / part.length));
  expect(process.cpuUsage().user - began).toBeLessThan(5_000_000);
  expect(plainText("<p>1 &lt; 2 &amp; &#65;</p><br>x<!-- y --><style>z</style>")).toBe("1 < 2 & A\nx");
});

describe("web_search", () => {
  const RESULT = { title: "T", url: "https://r.example/" };
  it.each<["brave" | "tavily" | "exa" | "searxng", object]>([
    ["brave", { web: { results: [{ ...RESULT, description: "about <strong>it</strong>" }] } }],
    ["tavily", { results: [{ ...RESULT, content: "about it" }] }],
    ["exa", { results: [{ ...RESULT, text: "about it" }] }],
    ["searxng", { results: [{ ...RESULT, content: "about it" }] }],
  ])("asks %s", async (provider, answer) => {
    reply = (_, response) => void response.end(JSON.stringify(answer));
    const http = outgoingHttp({ allowed: () => new AllowedAddresses(["127.0.0.1"]) });
    const search = webSearch({ provider, url: `${base}/search`, apiKey: () => "the-key", http });
    const { text, untrusted } = await toolsOf({}, { search: () => search })("web_search", { query: "a b&c", count: 3 });
    expect(text).toBe("1. T\nhttps://r.example/\nabout it");
    expect(untrusted).toEqual({ from: `web:${provider}` });
    const [{ url, headers, body }] = asked as [(typeof asked)[0]];
    expect(`${url} ${body}`).toMatch(/a(?:\+|%20| )b(?:%26|&)c/);
    const keys = [headers.authorization, headers["x-api-key"], headers["x-subscription-token"]].join("");
    expect(keys).toBe(provider === "searxng" ? "" : provider === "tavily" ? "Bearer the-key" : "the-key");
    for (const [status, problem] of [
      [401, "refuses the key"],
      [429, "allows no more searches now"],
      [500, "answered 500"],
    ] as const) {
      reply = html("", status);
      await expect(search.find("x", 1, new AbortController().signal)).rejects.toThrow(problem);
    }
    reply = html("not json");
    await expect(search.find("x", 1, new AbortController().signal)).rejects.toThrow("cannot be read");
  });

  it("says what to configure if there is none", async () => {
    await expect(toolsOf()("web_search", { query: "x" })).rejects.toThrow("No web search is configured");
  });
});
