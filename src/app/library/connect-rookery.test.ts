import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lastText, modelResult } from "../../../test/kit/model.ts";
import type { Model } from "../../core/ports/model.ts";
import { lostConnection } from "../client/api.ts";
import { type ConnectedRookery, connectedBy, connectRookery as connectInBrowser } from "../client/connect-url.ts";
import { httpTransport } from "../client/http-transport.ts";
import type { Transport } from "../client/transport.ts";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "../gateway/gateway.test-kit.ts";
import { connectRookery } from "./connect-rookery.ts";

const model: Model = {
  async call(request, _signal, onEvent) {
    const text = `answer to ${lastText(request)}`;
    onEvent({ type: "text", delta: text });
    return modelResult(text);
  },
};

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ model });
});
afterAll(() => kit.close());

const clients: Record<string, () => ConnectedRookery> = {
  "the control socket": () => connectRookery({ home: kit.home }),
  HTTP: () => connectRookery({ url: kit.gateway.url, token: ROOT_TOKEN }),
  "HTTP in a browser": () => connectInBrowser({ url: `${kit.gateway.url}/`, token: ROOT_TOKEN }),
};

describe.each(Object.entries(clients))("connectRookery over %s", (name, connect) => {
  it("has the methods of an engine", async () => {
    await using rookery = connect();
    const agent = rookery.agent(`ann of ${name}`);
    expect(await agent.ask("hello")).toBe("answer to hello");
    let text = "";
    for await (const event of agent.stream("more")) if (event.type === "delta") text += event.text;
    expect(text).toBe("answer to more");
    const receipt = await agent.send("again", { mailbox: true, queue: { mode: "queue" } });
    expect(await receipt.result()).toMatchObject({ outcome: "ok", text: "answer to again" });
    expect((await rookery.mailbox(`ann of ${name}`).list({ wait: 5 })).items).toHaveLength(1);
    expect((await agent.history()).items.length).toBeGreaterThan(4);
  });
});

/** Carries out every request and loses its answer, the first time. */
function losing(transport: Transport): Transport {
  const seen = new Set<string>();
  return async (request) => {
    const response = await transport(request);
    const key = `${request.method} ${request.path}`;
    if (seen.has(key)) return response;
    seen.add(key);
    for await (const _ of response.body) break;
    throw lostConnection();
  };
}

describe("a client whose connection is lost", () => {
  it("sends a request again, which is carried out once", async () => {
    const transport = httpTransport({ url: kit.gateway.url, token: ROOT_TOKEN });
    await using rookery = connectedBy(losing(transport));
    const agent = rookery.agent("lost");
    expect(await agent.ask("once")).toBe("answer to once");
    let text = "";
    for await (const event of agent.stream("streamed")) if (event.type === "delta") text += event.text;
    expect(text).toBe("answer to streamed");
    await using other = connectRookery({ home: kit.home });
    const { items: entries } = await other.agent("lost").history();
    expect(entries.filter(({ entry }) => entry?.role === "assistant")).toHaveLength(2);
  });

  it("reports the gateway's errors as they are, without repeating", async () => {
    await using rookery = connectRookery({ url: kit.gateway.url, token: "wrong" });
    await expect(rookery.agent("ann").ask("hi")).rejects.toMatchObject({ code: "unauthorized", status: 401 });
    expect(() => connectRookery({ url: "localhost:1", token: "x" })).toThrow(/not an HTTP address/);
  });

  it("ends its streams when it is closed, and the engine goes on", async () => {
    const rookery = connectRookery({ url: kit.gateway.url, token: ROOT_TOKEN });
    const events = rookery.events();
    expect((await events.next()).value?.type).toBe("tree");
    await rookery.close();
    await expect(events.next()).rejects.toMatchObject({ code: "connection_lost" });
    await using other = connectRookery({ home: kit.home });
    expect(await other.agent("after").ask("hi")).toBe("answer to hi");
  });
});
