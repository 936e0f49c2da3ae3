import { get } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import { apiMailbox, OWNER_MAILBOX } from "../../../core/delivery/route.ts";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "../gateway.test-kit.ts";

interface Item {
  readonly id: string;
  readonly text: string;
  readonly to: string;
}

/** The name of the person ann on the API's channel. */
const ANN = "person:ann";

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({
    config: { people: { records: { ann: {}, dee: {}, eve: {} } } },
    limits: { streamsPerToken: 2 },
  });
});
afterAll(() => kit.close());

const tokenOf = async (person: string | undefined, name = "t") => {
  const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
  return (await kit.gateway.context.tokens.mint(root, { name, scopes: ["chat"], person })).token;
};

/** An agent says something to a mailbox. Resolves when the delivery is committed. */
async function say(text: string, delivery: object, user = ANN): Promise<void> {
  const descriptor = { type: "user", connector: "api", userId: user, channelId: user } as const;
  const to = { descriptor, profile: "main", sessionKey: sessionKeyOf(descriptor, "main") };
  await kit.node.agents.postAndAwait({ to, body: { kind: "user", text }, delivery });
}

const items = async (token: string, query = "") => {
  const { status, json } = await kit.ask({ path: `/api/deliveries${query}`, token });
  expect(status).toBe(200);
  return json.items as readonly Item[];
};
const ack = (token: string, ids: readonly string[], more: object = {}) =>
  kit.ask({ method: "POST", path: "/api/deliveries/ack", token, body: { ids, ...more } });

/** Reads a stream until it contains a text. */
const streamUntil = (path: string, token: string, wanted: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = get({
      host: "127.0.0.1",
      port: kit.gateway.port,
      path,
      headers: { authorization: `Bearer ${token}` },
    });
    request.on("error", reject);
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (!text.includes(wanted)) return;
        request.destroy();
        resolve(text);
      });
    });
  });

describe("a mailbox over HTTP", () => {
  it("shows what waits until it is acknowledged, in any order and once", async () => {
    const ann = await tokenOf("ann");
    await say("one", apiMailbox(ANN));
    await say("two", apiMailbox(ANN));
    const [first, second] = await items(ann);
    expect([first, second]).toMatchObject([{ text: expect.stringContaining("one"), to: ANN }, {}]);
    const ids = [first?.id ?? "", second?.id ?? ""];
    expect((await ack(ann, [ids[1] ?? ""])).json).toEqual({ acknowledged: [ids[1]] });
    expect((await items(ann)).map(({ id }) => id)).toEqual([ids[0]]);
    expect((await ack(ann, [...ids, "no-such-id"])).json).toEqual({ acknowledged: ids });
    expect(await items(ann)).toEqual([]);
  });

  it("is read and acknowledged by its own person only", async () => {
    const [ann, eve] = [await tokenOf("ann"), await tokenOf("eve")];
    await say("private", apiMailbox(ANN));
    const [{ id = "" } = {}] = await items(ann);
    expect(await items(eve)).toEqual([]);
    expect((await kit.ask({ path: "/api/deliveries?user=ann", token: eve })).status).toBe(403);
    expect((await kit.ask({ path: "/api/deliveries/events?user=ann", token: eve })).status).toBe(403);
    expect((await ack(eve, [id], { user: "ann" })).status).toBe(403);
    expect((await ack(eve, [id])).json).toEqual({ acknowledged: [] });
    expect(await items(ann)).toHaveLength(1);
    await ack(ann, [id]);
  });

  it("of the owner is the owner's token's: another token has its own, and no name reaches the owner's", async () => {
    await say("for the owner", OWNER_MAILBOX);
    const other = await tokenOf(undefined);
    expect(await items(other)).toEqual([]);
    expect(await items(other, "?user=owner")).toEqual([]);
    const [{ id = "", text = "" } = {}] = await items(ROOT_TOKEN);
    expect(text).toContain("for the owner");
    expect((await ack(other, [id], { user: "owner" })).json).toEqual({ acknowledged: [] });
    const operator = (await kit.mint("operate")).token;
    await expect(tokenOf("owner")).rejects.toThrow("not the id of a person");
    for (const token of [other, operator, await tokenOf("eve")]) {
      expect((await kit.ask({ path: "/api/deliveries?terminal=owner", token })).status).toBe(403);
      expect((await ack(token, [id], { terminal: "owner" })).status).toBe(403);
    }
    expect((await ack(ROOT_TOKEN, [id])).json).toEqual({ acknowledged: [id] });
  });

  it("answers a long poll as soon as something arrives, and an empty one after its time", async () => {
    const ann = await tokenOf("ann");
    const polling = items(ann, "?wait=60");
    await say("late", apiMailbox(ANN));
    const [{ id = "", text = "" } = {}] = await polling;
    expect(text).toContain("late");
    await ack(ann, [id]);
    expect(await items(ann, "?wait=1")).toEqual([]);
    expect((await kit.ask({ path: "/api/deliveries?wait=61", token: ann })).status).toBe(400);
  });

  it("streams what waits and what arrives, also on the stream of the agent that says it", async () => {
    const ann = await tokenOf("ann");
    await say("before", apiMailbox(ANN));
    const all = streamUntil("/api/deliveries/events", ann, "after");
    const path = `/api/agents/${encodeURIComponent("agent:main:api:dm:person%3aann")}/events`;
    const agent = streamUntil(path, ROOT_TOKEN, "event: delivery");
    await say("after", apiMailbox(ANN));
    expect(await all).toMatch(/event: delivery\ndata: .*before[\s\S]*event: delivery\ndata: .*after/);
    expect(await agent).toMatch(/event: delivery\ndata: .*"to":"person:ann"/);
    await ack(
      ann,
      (await items(ann)).map(({ id }) => id),
    );
  });

  it("lets one token wait on as many requests as it may have streams, and tells a revoked one nothing", async () => {
    const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
    const { tokens, streams } = kit.gateway.context;
    const { token, record } = await tokens.mint(root, { name: "dee", scopes: ["chat"], person: "dee" });
    const waiting = [1, 2].map(() => kit.ask({ path: "/api/deliveries?wait=60", token }));
    await expect.poll(() => streams.count).toBe(2);
    expect((await kit.ask({ path: "/api/deliveries?wait=60", token })).status).toBe(429);
    expect((await kit.ask({ path: "/api/deliveries?wait=1", token: await tokenOf("ann") })).status).toBe(200);
    await kit.ask({ method: "DELETE", path: `/api/tokens/${record.id}` });
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([401, 401]);
    expect(streams.count).toBe(0);
  });

  it("refuses bad input with what to do", async () => {
    const ann = await tokenOf("ann");
    for (const body of [{}, { ids: [] }, { ids: [1] }, { ids: ["x".repeat(300)] }, { ids: Array(1_001).fill("x") }]) {
      expect((await kit.ask({ method: "POST", path: "/api/deliveries/ack", token: ann, body })).status).toBeOneOf([
        400, 413,
      ]);
    }
    expect((await kit.ask({ path: "/api/deliveries?limit=501", token: ann })).status).toBe(400);
  });
});
