import { describe, expect, it, test } from "vitest";
import type { Payload } from "../../../core/delivery/delivery.ts";
import { messageIdOf } from "./read-web-message.ts";
import { jidOf, sendOverWeb } from "./send-web.ts";
import type { WebSocketPort } from "./web-port.ts";

type WebSender = Parameters<typeof sendOverWeb>[0];

function world(more: Partial<WebSender> = {}, fails?: Error) {
  const sent: unknown[][] = [];
  const socket = {
    async sendMessage(...args: unknown[]) {
      sent.push(args);
      if (fails) throw fails;
    },
  } as unknown as WebSocketPort;
  const sender: WebSender = {
    socket: () => socket,
    files: () => undefined,
    participantOf: (id) => (id === "G2" ? "777@lid" : undefined),
    sent: (id, { id: deliveryId, attempt }) => void sent.push(["noted", id, deliveryId, attempt]),
    ...more,
  };
  const send = (payload: Payload, to = "491", signal = new AbortController().signal) =>
    sendOverWeb(sender, { id: "d.0" as never, attempt: 2, target: { to }, payload }, signal);
  return { send, sent };
}

test.each([
  ["491", "491@s.whatsapp.net"],
  ["777@lid", "777@lid"],
  ["120@g.us", "120@g.us"],
])("the chat %s is %s", (chat, jid) => {
  expect(jidOf(chat)).toBe(jid);
});

describe("a delivery", () => {
  it("is noted under its id before it is sent, so that its status is understood", async () => {
    const { send, sent } = world();
    const messageId = messageIdOf("d.0");
    expect(await send({ text: "**hi**" })).toEqual({ status: "sent", receipt: messageId });
    expect(sent).toEqual([
      ["noted", messageId, "d.0", 2],
      ["491@s.whatsapp.net", { text: "*hi*" }, { messageId }],
    ]);
  });

  test.each<[string, Payload, object]>([
    [
      "a reaction to a person",
      { action: { do: "react", messageId: "M1", emoji: "🎉" } },
      { react: { text: "🎉", key: { remoteJid: "120@g.us", id: "M1", fromMe: false } } },
    ],
    [
      "a reaction to a person in a group",
      { action: { do: "react", messageId: "G2" } },
      { react: { text: "👍", key: { id: "G2", participant: "777@lid" } } },
    ],
    [
      "an edit of what is ours",
      { text: "**new**", action: { do: "edit", messageId: messageIdOf("d.9") } },
      { text: "*new*", edit: { id: messageIdOf("d.9"), fromMe: true } },
    ],
    [
      "a deletion",
      { action: { do: "delete", messageId: messageIdOf("d.9") } },
      { delete: { id: messageIdOf("d.9"), fromMe: true } },
    ],
  ])("with %s", async (_, payload, content) => {
    const { send, sent } = world();
    expect((await send(payload, "120@g.us")).status).toBe("sent");
    expect(sent.at(-1)?.[1]).toMatchObject(content);
  });

  test.each([undefined, "", " \n"])("with the text %j is refused, and nothing is sent", async (text) => {
    const { send, sent } = world();
    expect(await send({ text })).toEqual({ status: "refused", reason: "a message without text" });
    expect(sent).toEqual([]);
  });

  it("may have left if the call fails, and is tried later if there is no connection", async () => {
    const lost = world({}, new TypeError("Connection Closed"));
    expect(await lost.send({ text: "hi" })).toEqual({ status: "unknown", reason: "Connection Closed" });
    const none = world({ socket: () => undefined });
    expect(await none.send({ text: "hi" })).toEqual({ status: "retry", reason: "not connected" });
    const aborted = world();
    expect((await aborted.send({ text: "hi" }, "491", AbortSignal.abort())).status).toBe("retry");
    expect([...none.sent, ...aborted.sent]).toEqual([]);
  });
});
