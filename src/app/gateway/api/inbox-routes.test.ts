/** A message posted without waiting is answered into a mailbox, one that waits is not (M27). */
import { describe, expect, test } from "vitest";
import { apiMailbox, OWNER_MAILBOX } from "../../../core/delivery/route.ts";
import type { Model } from "../../../core/ports/model.ts";
import { openTestGateway } from "../gateway.test-kit.ts";
import { mailboxFor } from "../messages/address.ts";

const agent = (connector: string) =>
  ({ descriptor: { type: "user", connector, userId: "ann", channelId: "ann" } }) as Parameters<typeof mailboxFor>[1];

describe("the mailbox of an answer that nobody waits for", () => {
  test.each([
    ["the owner's, for the owner's token", { id: "root", kind: "owner" }, "telegram", OWNER_MAILBOX],
    ["the API user's whose conversation it is", { id: "root", kind: "owner" }, "api", apiMailbox("ann")],
    ["the token's person's", { id: "t1", kind: "person", person: "bob" }, "telegram", apiMailbox("person:bob")],
    [
      "the only user's that an old token may name",
      { id: "t1", kind: "old", user: "bob" },
      "telegram",
      apiMailbox("bob"),
    ],
    [
      "the token's own, if it has no person",
      { id: "t1", kind: "old" },
      "telegram",
      { channel: "api", accountId: "t1", to: "t1" },
    ],
  ])("is %s", (_, principal, connector, mailbox) => {
    expect(mailboxFor(principal as Parameters<typeof mailboxFor>[0], agent(connector))).toEqual(mailbox);
  });
});

test("a message posted without waiting is answered into the mailbox, a request that waits makes no delivery", async () => {
  const model: Model = {
    async call({ messages }) {
      const content = [{ type: "text" as const, text: `answer ${messages.length}` }];
      return { content, stopReason: "stop", api: "a", provider: "p", model: "m" };
    },
  };
  const kit = await openTestGateway({ model });
  try {
    const body = { model: "main", user: "ann", messages: [{ role: "user", content: "hi" }] };
    expect((await kit.ask({ method: "POST", path: "/v1/chat/completions", body })).status).toBe(200);
    const path = "/api/agents/agent:main:api:dm:ann/messages";
    expect((await kit.ask({ method: "POST", path, body: { text: "wait", waitSeconds: 20 } })).status).toBe(200);
    await kit.node.agents.settled();
    expect((await kit.ask({ path: "/api/outbox" })).json).toEqual({ items: [], next: null });
    expect((await kit.ask({ method: "POST", path, body: { text: "do not wait" } })).status).toBe(202);
    await kit.node.agents.settled();
    const listed = (await kit.ask({ path: "/api/outbox?state=waiting-reader" })).json;
    expect(listed.items).toMatchObject([{ state: "waiting-reader", target: apiMailbox("ann") }]);
    const { items } = await kit.node.agents.deliveries.mailboxes.page([apiMailbox("ann")]);
    expect(items.map(({ payload }) => payload.text)).toEqual(["answer 5"]);
    expect((await kit.ask({ path: "/metrics" })).text).toContain("deliveries_waiting_reader 1");
  } finally {
    await kit.close();
  }
});
