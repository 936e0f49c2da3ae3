/** Calls of the Graph API over HTTP: what is asked, how every answer counts, and where the token never goes. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { graphApi } from "./graph-api.ts";

interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

const TOKEN = "EAA-very-secret";
let server: Server;
let root = "";
let answers: (Answer | "cut")[] = [];
let requests: {
  readonly method?: string;
  readonly url?: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method, url, headers } = request;
      requests.push({ method, url, headers, body: Buffer.concat(chunks).toString("utf8") });
      const answer = answers.shift() ?? {};
      if (answer === "cut") return void request.socket.destroy();
      const { body = {} } = answer;
      response
        .writeHead(answer.status ?? 200, answer.headers)
        .end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  root = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  [answers, requests] = [[], []];
});

const api = (apiRoot = root) => graphApi({ token: TOKEN, phoneNumberId: "10", apiRoot });
const message = (...given: (Answer | "cut")[]) => {
  answers.push(...given);
  return api().message({ to: "49" });
};

describe("a call", () => {
  it("goes to the number with the token in its header, also if the root ends with a slash", async () => {
    await api(`${root}/`).message({ to: "49", type: "text" });
    await api().number();
    expect(requests.map(({ method, url }) => [method, url])).toEqual([
      ["POST", "/v1/10/messages"],
      ["GET", "/v1/10?fields=display_phone_number,verified_name"],
    ]);
    expect(JSON.parse(requests[0]?.body ?? "")).toEqual({ messaging_product: "whatsapp", to: "49", type: "text" });
    expect(requests[0]?.headers["content-type"]).toBe("application/json");
    for (const { headers } of requests) expect(headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  test.each<[string, Answer | "cut", object]>([
    [
      "the id of the message",
      { body: { messages: [{ id: "wamid.1" }, { id: "2" }] } },
      { status: "ok", result: "wamid.1" },
    ],
    ["no message", { body: { success: true } }, { status: "ok", result: undefined }],
    ["an id that is none", { body: { messages: [{ id: 7 }] } }, { status: "ok", result: undefined }],
    [
      "an error with its code and details",
      { status: 400, body: { error: { code: 131_047, message: "Too late", error_data: { details: "24 hours" } } } },
      { status: "refused", code: 131_047, reason: "131047: Too late 24 hours" },
    ],
    [
      "an error although it says success",
      { body: { error: { code: 100 } } },
      { status: "refused", code: 100, reason: "100: answered 200" },
    ],
    [
      "an error without a body",
      { status: 401, body: "" },
      { status: "refused", code: 401, reason: "401: answered 401" },
    ],
    [
      "a code that is none",
      { status: 400, body: { error: { code: "x", message: 7 } } },
      { status: "refused", code: 400, reason: "400: answered 400" },
    ],
    [
      "too many requests",
      { status: 429, body: { error: { code: 80_007, message: "slow" } } },
      { status: "refused", code: 130_429, reason: "80007: slow" },
    ],
    [
      "too many requests without a body",
      { status: 429, body: "" },
      { status: "refused", code: 130_429, reason: "429: answered 429" },
    ],
    ["the last refusal", { status: 499, body: "" }, { status: "refused", code: 499, reason: "499: answered 499" }],
    [
      "an error of the server",
      { status: 500, body: { error: { code: 131_000, message: "oops" } } },
      { status: "unknown", reason: "131000: oops" },
    ],
    [
      "a page of something between",
      { body: "<html>" },
      { status: "unknown", reason: "the server did not answer as the API does" },
    ],
    [
      "JSON that is no object",
      { body: "7" },
      { status: "unknown", reason: "the server did not answer as the API does" },
    ],
    [
      "a longer answer than is read",
      { body: { x: "x".repeat(1_000_000) } },
      { status: "unknown", reason: "the server did not answer as the API does" },
    ],
    ["an answer as long as is read", { body: `{"x":"${"x".repeat(999_992)}"}` }, { status: "ok", result: undefined }],
  ])("that is answered with %s", async (_, answer, expected) => {
    expect(await message(answer)).toEqual(expected);
    expect(requests).toHaveLength(1);
  });

  it("that is cut may have arrived; one that never left has not", async () => {
    expect(await message("cut")).toMatchObject({ status: "unknown" });
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    expect(await api(`http://127.0.0.1:${port}`).message({})).toMatchObject({
      ...{ status: "not-sent", reason: expect.stringContaining("ECONNREFUSED") },
    });
  });

  it("that is aborted before it leaves is not made", async () => {
    expect(await api().message({}, AbortSignal.abort())).toEqual({ status: "not-sent", reason: "aborted" });
    expect(requests).toEqual([]);
  });

  it("that is aborted on its way may have arrived", async () => {
    const stop = new AbortController();
    const hanging = createServer(() => stop.abort());
    await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
    const { port } = hanging.address() as AddressInfo;
    expect(await api(`http://127.0.0.1:${port}`).message({}, stop.signal)).toMatchObject({ status: "unknown" });
    hanging.closeAllConnections();
    hanging.close();
  });

  it("does not follow the server to another place", async () => {
    const result = await message({ status: 302, headers: { location: `${root}/elsewhere` } });
    expect([result.status, requests.length]).toEqual(["unknown", 1]);
  });

  test.each([400, 500])("never tells the token, nor more than a short reason: %i", async (status) => {
    const error = { code: 1, message: `Bearer ${TOKEN} is bad. `.repeat(100) };
    const result = (await message({ status, body: { error } })) as { reason: string };
    expect(result.reason).toMatch(/^1: Bearer \*\*\* is bad/u);
    expect(result.reason).not.toContain("secret");
    expect(result.reason.length).toBe(300);
  });
});

describe("a file", () => {
  it("is uploaded as a form with its type and name", async () => {
    answers.push({ body: { id: "m1" } });
    const file = { data: Buffer.from("bytes"), name: "a.pdf", mimeType: "application/pdf" };
    expect(await api().upload(file)).toEqual({ status: "ok", result: "m1" });
    const [{ url, body, headers } = { url: "", body: "", headers: {} as IncomingHttpHeaders }] = requests;
    expect([url, headers["content-type"]]).toEqual(["/v1/10/media", expect.stringMatching(/^multipart\/form-data/u)]);
    for (const part of [
      'name="messaging_product"\r\n\r\nwhatsapp',
      'name="type"\r\n\r\napplication/pdf',
      'filename="a.pdf"',
      "\r\n\r\nbytes\r\n",
    ])
      expect(body).toContain(part);
  });

  it("is fetched where the server says, with the token", async () => {
    answers.push({ body: { url: `${root}/content` } }, { body: "bytes" });
    expect(await api().download("a/b", 5)).toEqual(Buffer.from("bytes"));
    expect(requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ["/v1/a%2Fb?phone_number_id=10", `Bearer ${TOKEN}`],
      ["/v1/content", `Bearer ${TOKEN}`],
    ]);
  });

  it("that is larger than the limit is refused", async () => {
    answers.push({ body: { url: `${root}/content` } }, { body: "bytes" });
    expect(await api().download("m1", 4)).toEqual({ refused: "it is larger than 4 bytes" });
  });

  it("that the server does not give is refused; one that it may give later is asked for again", async () => {
    answers.push({ status: 404, body: { error: { code: 100, message: "gone" } } });
    expect(await api().download("m1", 5)).toEqual({ refused: "100: gone" });
    answers.push({ status: 503, body: "" });
    await expect(api().download("m1", 5)).rejects.toThrow("answered 503");
    answers.push({ body: { url: `${root}/content` } }, { status: 404 });
    await expect(api().download("m1", 5)).rejects.toThrow("the server answered 404");
  });

  test.each([
    "http://127.0.0.1:1/other-port",
    "https://evil.example/x",
    "https://facebook.com.evil.example/x",
    "https://notfacebook.com/x",
    "http://lookaside.fbsbx.com/x",
    "its own host without the port",
    "its own host in another protocol",
    "not an address",
  ])("is not fetched from %s, which gets no token", async (named) => {
    const url =
      {
        "its own host without the port": "http://127.0.0.1/x",
        "its own host in another protocol": root.replace("http", "https"),
      }[named] ?? named;
    answers.push({ body: { url } });
    expect(await api().download("m1", 5)).toEqual({ refused: "the server named an address that is not its own" });
    expect(requests).toHaveLength(1);
  });
});
