/** `rookery.fetch` inside other servers: hono, a server of Node, and one in the form of Bun. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Hono } from "hono";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scripted } from "../testing/scripted.ts";
import { createRookery, type Rookery } from "./create-rookery.ts";
import { toNode } from "./mounts.test-kit.ts";

let rookery: Rookery;
let token: string;
const servers: Server[] = [];
beforeAll(async () => {
  rookery = await createRookery({ home: "memory", model: scripted("It is sunny today."), env: {} });
  await rookery.fetch(new Request("http://localhost/health"));
  token = readFileSync(join(rookery.home, "token"), "utf8").trim();
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await rookery.close();
});

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The base of the API in each server. */
const MOUNTS: Readonly<Record<string, () => Promise<string>>> = {
  "a server of Node": () => listening(toNode(rookery.fetch)),
  "hono, under a path": () => {
    const app = new Hono();
    app.get("/", (c) => c.text("the application"));
    app.mount("/agents", (request) => rookery.fetch(request));
    return listening(toNode(async (request) => app.fetch(request))).then((url) => `${url}/agents`);
  },
  "a handler in the form of Bun.serve": () => {
    // Bun calls `fetch(request, server)`, and `server.requestIP` knows the client.
    const bun = { requestIP: () => ({ address: "127.0.0.1" }) };
    const options = {
      fetch: (request: Request, server: typeof bun) => rookery.fetch(request, { address: server.requestIP().address }),
    };
    return listening(toNode((request) => options.fetch(request, bun)));
  },
};

describe.each(Object.entries(MOUNTS))("fetch in %s", (_, mount) => {
  let url: string;
  let client: OpenAI;
  beforeAll(async () => {
    url = await mount();
    client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
  });
  const question = { model: "main", messages: [{ role: "user", content: "Weather?" }] } as const;

  it("answers the official client, whole and as a stream", async () => {
    const whole = await client.chat.completions.create({ ...question, messages: [...question.messages] });
    expect(whole.choices[0]?.message.content).toBe("It is sunny today.");
    const pieces: string[] = [];
    const stream = await client.chat.completions.create({
      ...question,
      messages: [...question.messages],
      stream: true,
    });
    for await (const chunk of stream) pieces.push(chunk.choices[0]?.delta.content ?? "");
    expect(pieces.join("")).toBe("It is sunny today.");
    expect(pieces.length).toBeGreaterThan(2);
  });

  it("needs a token, and takes no request with another Host", async () => {
    expect((await fetch(`${url}/v1/models`)).status).toBe(401);
    const ok = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
    expect(ok.status).toBe(200);
    const elsewhere = new Request("http://evil.example/v1/models", { headers: { authorization: `Bearer ${token}` } });
    expect((await rookery.fetch(elsewhere)).status).toBe(421);
  });
});

describe("a stream over fetch", () => {
  it("ends when its token is revoked", async () => {
    const post = (path: string, body: object) =>
      rookery.fetch(
        new Request(`http://localhost${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      );
    const minted = (await (await post("/api/tokens", { name: "watcher", scopes: ["read"] })).json()) as {
      token: string;
      record: { id: string };
    };
    const headers = { authorization: `Bearer ${minted.token}` };
    const stream = await rookery.fetch(new Request("http://localhost/api/events", { headers }));
    expect(stream.status).toBe(200);
    const read = stream.text().catch(() => "cut");
    const removal = new Request(`http://localhost/api/tokens/${minted.record.id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${token}` },
    });
    expect((await rookery.fetch(removal)).status).toBeLessThan(300);
    // Without an end the test would time out.
    await read;
  });
});
