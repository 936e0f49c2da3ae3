/** Files over HTTP: who reaches which, what is refused, and that no browser ever executes one. */
import { request } from "node:http";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pngOf } from "../../../adapters/files/samples.test-kit.ts";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "../gateway.test-kit.ts";
import { readMultipart } from "../http/multipart.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
  readonly json: Record<string, unknown> & { error?: { code: string; message: string } };
}

let kit: TestGateway;
let ann: string;
let eve: string;
let shop: string;
beforeAll(async () => {
  kit = await openTestGateway({
    config: {
      files: { maxBytes: 50_000, quotaBytes: 120_000 },
      gateway: { limits: { bodyBytes: 20_000 } },
      people: { records: { ann: {}, eve: {} } },
    },
  });
  const mint = async (more: object): Promise<string> => {
    const { json } = await kit.ask({
      method: "POST",
      path: "/api/tokens",
      body: { name: "t", scopes: ["chat"], ...more },
    });
    return json.token as string;
  };
  [ann, eve, shop] = [await mint({ person: "ann" }), await mint({ person: "eve" }), await mint({ app: "shop" })];
});
afterAll(() => kit.close());

function ask(
  method: string,
  path: string,
  options: { token?: string; body?: Buffer | string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { token = ROOT_TOKEN, body, headers = {} } = options;
  const sent = { authorization: `Bearer ${token}`, ...headers };
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port: kit.gateway.port, method, path, headers: sent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const bytes = Buffer.concat(chunks);
        const parsed = (): Answer["json"] => JSON.parse(bytes.toString()) as Answer["json"];
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          get json() {
            return parsed();
          },
        });
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

const upload = (body: Buffer | string, name: string, token?: string) =>
  ask("POST", `/api/files?name=${encodeURIComponent(name)}`, { body, token });
const put = async (body: Buffer | string, name = "a.txt", token?: string): Promise<string> => {
  const { status, json, bytes } = await upload(body, name, token);
  expect(status, bytes.toString()).toBe(201);
  return json.id as string;
};

describe("a file", () => {
  it("may be larger than the body of other requests, up to its own limit", async () => {
    const { bodyBytes } = kit.config.gateway.limits;
    const large = Buffer.alloc(bodyBytes * 2, "large ");
    const id = await put(large, "large.txt");
    expect((await ask("GET", `/api/files/${id}/content`)).bytes.equals(large)).toBe(true);
    await ask("DELETE", `/api/files/${id}`);
  });

  it("comes back as it was sent, typed by its content, and is the same file when it is sent again", async () => {
    const png = await pngOf(30, 20);
    const { json } = await upload(png, "photo.exe");
    expect(json).toMatchObject({ name: "photo.exe", mimeType: "image/png", size: png.length, as: "image" });
    const content = await ask("GET", `/api/files/${json.id}/content`);
    expect(content.bytes.equals(png)).toBe(true);
    expect(await put(png, "photo.exe")).toBe(json.id);
    const { json: page } = await ask("GET", "/api/files");
    expect((await ask("GET", "/api/files/usage")).json).toEqual({ usedBytes: png.length, quotaBytes: 120_000 });
    expect((page.items as { id: string }[]).map(({ id }) => id)).toEqual([json.id]);
    expect((await ask("DELETE", `/api/files/${json.id}`)).json).toEqual({ removed: json.id });
    expect((await ask("GET", `/api/files/${json.id}/content`)).status).toBe(404);
    expect((await ask("GET", "/api/files")).json.items).toEqual([]);
  });

  it("comes as a form too, with the name the form gives", async () => {
    const form = new FormData();
    form.set("note", "ignored");
    form.set("file", new Blob(["hello form"]), 'my "best" note.txt');
    const made = new Request("http://x", { method: "POST", body: form });
    const headers = { "content-type": made.headers.get("content-type") ?? "" };
    const body = Buffer.from(await made.arrayBuffer());
    const { json } = await ask("POST", "/api/files", { body, headers });
    expect(json).toMatchObject({ name: 'my "best" note.txt', size: 10, mimeType: "text/plain", as: "text" });
  });

  it.each([
    ["no boundary", "multipart/form-data", "x"],
    ["a boundary that does not occur", "multipart/form-data; boundary=q", "--other\r\n\r\nx"],
    ["no file", "multipart/form-data; boundary=q", '--q\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n--q--'],
    [
      "an end that is missing",
      "multipart/form-data; boundary=q",
      '--q\r\ncontent-disposition: form-data; name="file"\r\n\r\nx',
    ],
    [
      "too many parts",
      "multipart/form-data; boundary=q",
      `--q${'\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n--q'.repeat(200)}`,
    ],
    ["endless headers", "multipart/form-data; boundary=q", `--q\r\n${"a: b\r\n".repeat(3_000)}`],
  ])("in a form with %s is refused", async (_, type, body) => {
    const { status, json } = await ask("POST", "/api/files", { body, headers: { "content-type": type } });
    expect([status, json.error?.code]).toEqual([400, "bad_body"]);
  });

  it("reads any form that a browser writes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.stringMatching(/^[\w.-]{1,20}$/), (data, name) => {
        const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: x/y\r\n\r\n`;
        const body = Buffer.concat([Buffer.from(head), data, Buffer.from("\r\n--b--\r\n")]);
        const read = readMultipart("multipart/form-data; boundary=b", body);
        expect(read.name).toBe(name);
        expect(Buffer.compare(read.data, data)).toBe(0);
      }),
    );
  });
});

describe("a browser", () => {
  it.each([
    ["a page", "<!doctype html><script>alert(1)</script>", "x.html"],
    ["an image with a script", "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "x.svg"],
    ["a script", "alert(1)", "x.js"],
    ["XML", "<?xml version='1.0'?><x/>", "x.xml"],
  ])("never executes %s", async (_, body, name) => {
    const id = await put(body, name);
    const { headers } = await ask("GET", `/api/files/${id}/content`);
    expect(headers["content-type"]).toMatch(/^(?:application\/octet-stream|text\/plain; charset=utf-8)$/);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
      "content-disposition": `attachment; filename="${name}"; filename*=UTF-8''${name}`,
    });
  });

  it.each([
    ["../../etc/passwd", "passwd"],
    ["C:\\boot.ini", "boot.ini"],
    ["a\r\nSet-Cookie: x=1", "aSet-Cookie: x=1"],
    ['a"; filename="b', 'a"; filename="b'],
    ["\u202Egnp.exe", "gnp.exe"],
    ["日本.txt", "日本.txt"],
  ])("gets a safe name for %j", async (given, name) => {
    const id = await put(`content of ${given}`, given);
    expect((await ask("GET", `/api/files/${id}`)).json.name).toBe(name);
    const disposition = String((await ask("GET", `/api/files/${id}/content`)).headers["content-disposition"]);
    expect(disposition).toMatch(/^attachment; filename="[\w. -]+"; filename\*=UTF-8''[\w.%~-]+$/);
    expect(decodeURIComponent(disposition.split("''")[1] ?? "")).toBe(name);
  });
});

describe("limits", () => {
  it("refuse a file that is too large before all of it has arrived, an empty one, and one beyond the quota", async () => {
    expect((await upload(Buffer.alloc(50_001, "a"), "big")).json.error?.code).toBe("too_large");
    const flood = await upload(Buffer.alloc(300_000, "a"), "flood");
    expect([flood.status, flood.json.error?.code]).toEqual([413, "body_too_large"]);
    expect((await upload("", "none")).status).toBe(400);
    for (const letter of ["a", "b"]) await put(letter.repeat(50_000), letter, eve);
    const full = await upload("c".repeat(50_000), "c", eve);
    expect([full.status, full.json.error?.message]).toEqual([413, expect.stringContaining("100000 of 120000 bytes")]);
    expect((await ask("GET", "/api/files/usage", { token: eve })).json.usedBytes).toBe(100_000);
  });
});

describe("a guest", () => {
  it("reaches the own files, and gets the same answer for another's file as for none", async () => {
    const own = await put("of ann", "own", ann);
    const others = [await put("of the owner", "secret"), await put("of eve", "secret", eve)];
    expect((await ask("GET", `/api/files/${own}/content`, { token: ann })).bytes.toString()).toBe("of ann");
    expect((await ask("GET", `/api/files/${own}/content`)).status).toBe(200);
    const sha = (await ask("GET", `/api/files/${others[0]}`)).json.sha256 as string;
    for (const id of [...others, sha, "file_none"]) {
      for (const [method, more] of [
        ["GET", ""],
        ["GET", "/content"],
        ["DELETE", ""],
      ] as const) {
        const { status, json } = await ask(method, `/api/files/${id}${more}`, { token: ann });
        expect([status, json.error?.message.replaceAll(id, "X")]).toEqual([
          404,
          "There is no file X. Upload it first, or check its id.",
        ]);
      }
    }
    const { items } = (await ask("GET", "/api/files", { token: ann })).json;
    expect((items as { id: string }[]).map(({ id }) => id)).toEqual([own]);
    expect((await ask("GET", "/api/files?user=eve", { token: ann })).status).toBe(403);
  });

  it("does not learn from an upload whether someone else has the same content", async () => {
    await put("shared words", "theirs", eve);
    const first = await upload("shared words", "mine", ann);
    const second = await upload("other words!", "mine2", ann);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(Object.keys(first.json)).toEqual(Object.keys(second.json));
  });

  it("removes the own files together, and no one else's", async () => {
    await put("more of ann", "more", ann);
    const owners = await put("of the owner", "kept");
    expect((await ask("DELETE", "/api/files?person=owner", { token: ann })).status).toBe(403);
    expect((await ask("DELETE", "/api/files", { token: ann })).json.removed).toBeGreaterThan(0);
    expect((await ask("GET", "/api/files", { token: ann })).json.items).toEqual([]);
    expect((await ask("GET", `/api/files/${owners}`)).status).toBe(200);
    await put("again", "again", ann);
    expect((await ask("DELETE", "/api/files?person=ann")).json.removed).toBe(1);
  });

  it("cannot send a message with another's file", async () => {
    const secret = await put("of the owner", "secret");
    const send = (file: string) =>
      ask("POST", "/api/agents/agent:main:api:dm:ann/messages", {
        token: ann,
        body: JSON.stringify({ text: "read it to me", files: [file] }),
        headers: { "content-type": "application/json" },
      });
    expect((await send(secret)).status).toBe(404);
    expect((await send(await put("of ann", "own", ann))).status).toBe(202);
  });
});

it("an application reaches the files of its users and its own, and no others", async () => {
  const mine = await put("of shop", "own", shop);
  expect((await ask("GET", `/api/files/${mine}`, { token: shop })).status).toBe(200);
  expect((await ask("GET", `/api/files/${mine}`, { token: ann })).status).toBe(404);
  const { json } = await ask("POST", "/api/files?user=ann", { token: shop, body: "of ann of shop" });
  expect((await ask("GET", `/api/files/${json.id}/content`, { token: shop })).status).toBe(200);
  expect((await ask("GET", `/api/files/${json.id}/content`, { token: ann })).status).toBe(404);
  const own = await put("of ann", "own", ann);
  expect((await ask("GET", `/api/files/${own}`, { token: shop })).status).toBe(404);
});
