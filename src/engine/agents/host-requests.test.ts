/** What a connector's calls become: the messages that are posted, field by field, and who is refused. No engine. */
import { describe, expect, test } from "vitest";
import { cutText } from "../../core/cut-text.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { IncomingCommand } from "../../core/ports/connector.ts";
import { type HostOptions, hostFor, ONLY_THE_OWNER_TEXT } from "./connector-host.ts";
import type { PostRequest } from "./message-ingress.ts";

const AGENT = "a".repeat(24) as AgentId;
const from: Omit<IncomingMessage, "text"> = {
  ...{ connector: "test", userId: "7", channelId: "c7", messageId: "m1", delivery: { channel: "test", to: "7" } },
};

function world(options: HostOptions = {}, strangers = false, name = "test") {
  const posted: PostRequest[] = [];
  const host = hostFor(
    { name, replayHorizonMs: 99, capabilities: { strangers } as never },
    async (request) => {
      posted.push(request);
      return { agentId: AGENT, seq: 5, duplicate: false, status: "accepted" } as never;
    },
    options,
  );
  return { host, posted };
}
const bodyOf = async (
  call: (host: ReturnType<typeof world>["host"]) => Promise<unknown>,
  options?: HostOptions,
): Promise<unknown> => {
  const { host, posted } = world(options);
  await call(host);
  return posted[0]?.body;
};

describe("a message", () => {
  test("carries everything the channel said, and nothing that it did not say", async () => {
    const { host, posted } = world();
    await host.accept({
      ...from,
      ...{
        text: "hi",
        senderName: "Ann",
        replyToId: "m0",
        burst: "album",
        queue: { mode: "collect" },
        queueDefault: { cap: 2 },
      },
      ...{ others: ["8"], untrusted: true, subject: "Team", revision: 2, sentAt: 3, accountId: "acc", threadId: 4 },
      summaryLine: "s".repeat(600),
      files: [{ id: "f", name: "n", mimeType: "m", size: 1 }],
    });
    expect(posted).toHaveLength(1);
    expect(posted[0]).toMatchObject({
      ...{ delivery: from.delivery, longText: "file", replayHorizonMs: 99, about: { subject: "Team" } },
      sender: { connector: "test", userId: "7", others: ["8"], untrusted: true },
      source: { connector: "test", accountId: "acc", channelId: "c7", messageId: "m1", revision: 2, sentAt: 3 },
      body: {
        ...{ kind: "user", text: "hi", sender: { id: "7", name: "Ann" }, replyToId: "m0", burst: "album" },
        ...{ queue: { mode: "collect" }, queueDefault: { cap: 2 }, files: [{ id: "f" }] },
      },
    });
    const { summaryLine } = (posted[0] as PostRequest).body as { summaryLine: string };
    expect(summaryLine).toBe(cutText("s".repeat(600), 500));
    const bare = world();
    await bare.host.accept({ ...from, text: "hi", senderName: "", replyToId: "" });
    expect(bare.posted[0]?.body).toEqual({ kind: "user", text: "hi", sender: { id: "7" } });
    expect(bare.posted[0]?.about).toBeUndefined();
  });

  test.each<[string, object]>([
    ["subject", { subject: "x" }],
    ["groupChannel", { groupChannel: "x" }],
    ["space", { space: "x" }],
  ])("says what is shown of its conversation: %s", async (_title, more) => {
    const { host, posted } = world();
    await host.accept({ ...from, ...more, text: "hi" });
    expect(posted[0]?.about).toEqual(more);
  });

  test("that is only noted has no answer and wakes no one", async () => {
    const { host, posted } = world();
    await host.note?.({ ...from, text: "said before" });
    expect(posted[0]).toMatchObject({ body: { kind: "system", text: "said before", silent: true } });
    expect(posted[0]?.delivery).toBeUndefined();
    expect(posted[0]?.source?.messageId).toBe("m1");
  });
});

describe("a command", () => {
  const command = (given: IncomingCommand["command"], options?: HostOptions) =>
    bodyOf((host) => host.command({ ...from, command: given }), options);
  test.each<[string, IncomingCommand["command"], object]>([
    ["stop", { name: "stop" }, { kind: "stop" }],
    ["compact", { name: "compact", instructions: "short" }, { kind: "compact", instructions: "short" }],
    ["compact alone", { name: "compact", instructions: "" }, { kind: "compact" }],
    ["subagents", { name: "subagents", text: "list" }, { kind: "subagents", command: "list" }],
    ["queue", { name: "queue", settings: { mode: "steer" } }, { kind: "setting", queue: { mode: "steer" } }],
    ["reset", { name: "reset" }, { kind: "reset", by: "person" }],
    ["send, not by the owner", { name: "send", policy: null }, { kind: "setting", refused: ONLY_THE_OWNER_TEXT }],
    [
      "one of the table",
      { name: "chat", command: "think", text: "high", inTurn: true },
      { kind: "command", name: "think", text: "high", inTurn: true },
    ],
  ])("%s", async (_title, given, body) => {
    expect(await command(given)).toEqual(body);
    const { host, posted } = world();
    const accepted = await host.command({ ...from, accountId: "", command: given });
    expect(accepted).toEqual({ status: "accepted", agentId: AGENT, messageId: `${AGENT}/5` });
    expect(posted).toHaveLength(1);
    expect(posted[0]).toMatchObject({
      ...{ delivery: from.delivery, replayHorizonMs: 99, sender: { connector: "test", userId: "7" } },
      to: { descriptor: { userId: "7", channelId: "c7" } },
    });
    expect(posted[0]?.source).toEqual({ connector: "test", channelId: "c7", messageId: "m1" });
  });

  test("that is too old for its channel is said to be stale, and nothing more", async () => {
    const host = hostFor({ name: "test", replayHorizonMs: 99 }, async () => ({ status: "stale" }));
    expect(await host.command({ ...from, command: { name: "stop" } })).toEqual({ status: "stale" });
  });

  test("/send is the owner's", async () => {
    const send = { name: "send", policy: "deny" } as const;
    expect(await command(send, { isOwner: ({ userId }) => userId === "7" })).toEqual({
      kind: "setting",
      patch: { sendPolicy: "deny" },
    });
    expect(await command(send, { isOwner: () => false })).toEqual({ kind: "setting", refused: ONLY_THE_OWNER_TEXT });
    expect(await command(send)).toEqual({ kind: "setting", refused: ONLY_THE_OWNER_TEXT });
  });

  test.each<[string, IncomingCommand["command"]]>([
    ["a reset", { name: "reset", text: "and then" }],
    ["a command", { name: "chat", command: "think", text: "high", message: "and then" }],
  ])("%s with a text after it posts the text as a message of its own", async (_title, given) => {
    const { host, posted } = world();
    await host.command({ ...from, queue: { mode: "steer" }, queueDefault: { cap: 3 }, command: given });
    expect(posted).toHaveLength(2);
    expect(posted[1]).toMatchObject({
      source: { connector: "test", messageId: "m1#text" },
      body: { kind: "user", text: "and then", sender: { id: "7" }, queue: { mode: "steer" }, queueDefault: { cap: 3 } },
    });
    expect(posted[0]?.source?.messageId).toBe("m1");
  });
});

describe("someone who is not known", () => {
  const entry = async (arriving: { userId: string }, text?: string) =>
    arriving.userId === "9" ? ({ let: "in" } as const) : ({ let: "out", say: `who? ${text ?? ""}` } as const);
  test("is refused, and told why, wherever the channel is open to strangers", async () => {
    const { host, posted } = world({ pairing: { entry } }, true);
    expect(await host.accept({ ...from, text: "hi" })).toEqual({ status: "refused", say: "who? hi" });
    expect(await host.command({ ...from, command: { name: "stop" } })).toEqual({ status: "refused", say: "who? " });
    expect(await host.note?.({ ...from, text: "x" })).toEqual({ status: "refused", say: "who? " });
    expect(await host.entry?.(from as never)).toEqual({ status: "refused", say: "who? " });
    const unknown = { say: "You are not known here.", done: false };
    expect(await host.press?.({ ...from, token: "t" } as never)).toEqual(unknown);
    const conversations = { press: async () => ({ say: "done", done: true }) } as never;
    const pressing = world({ pairing: { entry }, conversations }, true).host;
    expect(await pressing.press?.({ ...from, token: "t" } as never)).toEqual(unknown);
    expect(posted).toEqual([]);
    await host.accept({ ...from, userId: "9", text: "hi" });
    expect(posted).toHaveLength(1);
  });

  test("is no one's concern where it is not", async () => {
    const closed = world({ pairing: { entry } }, false);
    await closed.host.accept({ ...from, text: "hi" });
    const open = world({}, true);
    await open.host.accept({ ...from, text: "hi" });
    expect([closed.posted.length, open.posted.length]).toEqual([1, 1]);
    expect(await open.host.entry?.(from as never)).toBeUndefined();
  });
});

describe("a conversation", () => {
  const conversations = (record: object | undefined, aborted: string[] = []) => ({
    agentAt: async () => record as never,
    abort: async (runId: RunId) => {
      aborted.push(runId);
      return runId === "r1";
    },
    press: async () => ({ say: "done", done: true }),
  });
  test("is stopped if its run is the one that is meant", async () => {
    const aborted: string[] = [];
    const stop = (record: object | undefined, matches: boolean) =>
      world({ conversations: conversations(record, aborted) }).host.stopRun?.(from as never, () => matches);
    expect(await stop({ runId: "r1" }, true)).toBe(true);
    expect(await stop({ runId: "r2" }, true)).toBe(false);
    expect(await stop({ runId: "r1" }, false)).toBe(false);
    expect(await stop({}, true)).toBe(false);
    expect(await stop(undefined, true)).toBe(false);
    expect(aborted).toEqual(["r1", "r2"]);
    expect(await world().host.stopRun?.(from as never, () => true)).toBe(false);
  });

  test("has its buttons and its activation", async () => {
    const { host } = world({ conversations: conversations({ state: { groupActivation: "always" } }) });
    expect(await host.press?.({ ...from, token: "t" } as never)).toEqual({ say: "done", done: true });
    expect(await host.groupActivation?.(from as never)).toBe("always");
    expect(await world().host.groupActivation?.(from as never)).toBeUndefined();
    expect(await world().host.press?.({ ...from, token: "t" } as never)).toMatchObject({ done: false });
  });

  test("is addressed as the node says, or by its ids", async () => {
    const { host, posted } = world({ address: () => ({ descriptor: "x" }) as never });
    await host.accept({ ...from, text: "hi" });
    expect(posted[0]?.to).toEqual({ descriptor: "x" });
    const plain = world();
    await plain.host.accept({ ...from, text: "hi" });
    expect(plain.posted[0]?.to).toMatchObject({
      descriptor: { type: "user", connector: "test", userId: "7", channelId: "c7" },
    });
  });
});

describe("what a connector reads", () => {
  test("are the settings of now", () => {
    const options: { -readonly [Key in keyof HostOptions]: HostOptions[Key] } = {
      resetTriggers: ["/new"],
      commands: { isOn: (name) => name === "test" },
    };
    const { host } = world(options);
    expect([host.commands, host.resetTriggers, host.maxCharacters]).toEqual([true, ["/new"], 500_000]);
    options.textLimits = { messageCharacters: 10 };
    options.commands = { isOn: () => false };
    expect([host.commands, host.maxCharacters]).toEqual([false, 10]);
    expect(world().host.commands).toBe(true);
  });

  test("receipts go where they are taken", async () => {
    const receipts: unknown[] = [];
    const { host } = world({ receipt: async (...args) => void receipts.push(args) });
    await host.receipt?.({ receipt: "1", state: "read" } as never);
    expect(receipts).toEqual([["test", { receipt: "1", state: "read" }]]);
    await world().host.receipt?.({} as never);
  });

  test("files belong to the person whose account sends them", async () => {
    const put: unknown[] = [];
    const files = {
      limits: { maxBytes: 5 },
      find: async (id: string) => (id === "f" ? { id } : undefined),
      read: async ({ id }: { id: string }) => `bytes of ${id}`,
      put: async (given: object) => {
        put.push(given);
        return { id: "f", name: "n", mimeType: "m", size: 1, shown: { as: "reference" }, behalf: { person: "ann" } };
      },
    };
    const { host } = world({
      files: files as never,
      personOf: async (connector, userId) => `${connector}:${userId}` as PersonId,
    });
    expect(host.files?.maxBytes).toBe(5);
    await host.files?.put({ data: new Uint8Array(), name: "n", userId: "7" } as never);
    expect(put).toMatchObject([{ name: "n", behalf: { person: "test:7" } }]);
    const read = ["f", "gone"].map((id) => host.files?.read?.({ id } as never));
    expect(await Promise.all(read)).toEqual(["bytes of f", undefined]);
    expect(world({ files: files as never }).host.files).toBeUndefined();
    expect(world({ personOf: async () => "x" as PersonId }).host.files).toBeUndefined();
  });
});
