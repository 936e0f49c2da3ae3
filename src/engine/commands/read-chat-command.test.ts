import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { ConnectorHost, IncomingCommand } from "../../core/ports/connector.ts";
import { chatCommands } from "./chat-commands.ts";
import { readChatCommand, readUserInput, submitText } from "./read-chat-command.ts";

const incoming = (text: string): IncomingMessage => ({
  ...{ connector: "c", userId: "u", channelId: "u", messageId: "1", text },
  delivery: { channel: "c", to: "u" },
});

async function submitted(text: string, host: Partial<ConnectorHost> = {}, names?: readonly string[]): Promise<unknown> {
  let said: unknown;
  const accepted = { status: "stale" } as const;
  await submitText(
    {
      accept: async ({ text: words, queue }: IncomingMessage) => {
        said = queue ? [words, queue] : words;
        return accepted;
      },
      command: async ({ command }: IncomingCommand) => {
        said = command;
        return accepted;
      },
      ...host,
    },
    incoming(text),
    names,
  );
  return said;
}

const chat = (command: string, text: string, more: object = {}) => ({ name: "chat", command, text, ...more });
const changes = { inTurn: true };

describe("submitText", () => {
  it.each<[string, unknown]>([
    ["hello", "hello"],
    // A word of two letters is no slip of a name of one.
    ["/tx hello", "/tx hello"],
    ["/vv", "/vv"],
    ["/stop", { name: "stop" }],
    ["Wait", { name: "stop" }],
    ["/reset", { name: "reset" }],
    ["/NEW Good Morning", { name: "reset", text: "Good Morning" }],
    ["/compact", { name: "compact" }],
    ["/Compact  keep the Names", { name: "compact", instructions: "keep the Names" }],
    ["/compact: the plan", { name: "compact", instructions: "the plan" }],
    ["/subagents", { name: "subagents", text: "" }],
    ["/SUBAGENTS send 1  two  words", { name: "subagents", text: "send 1  two  words" }],
    ["/queue", chat("queue", "")],
    ["/queue steer", chat("queue", "steer", changes)],
    ["/queue reset", chat("queue", "reset", changes)],
    ["/queue reset hello", chat("queue", "reset", { ...changes, message: "hello" })],
    ["/queue nonsense", chat("queue", "nonsense", changes)],
    ["/queue cap:x", chat("queue", "cap:x", changes)],
    ["/queue steer cap:x", chat("queue", "steer cap:x", changes)],
    ["  /status ", chat("status", "")],
    ["/send:off", chat("send", "off", changes)],
    ["/noo", chat("unknown", "/noo")],
    ["/queue interrupt leave that", ["leave that", { mode: "interrupt" }]],
    ["do it /queue interrupt", ["do it", { mode: "interrupt" }]],
    ["what does /queue do?", "what does /queue do?"],
    ["/send off", chat("send", "off", changes)],
    ["/send: off", chat("send", "off", changes)],
    ["/send", chat("send", "")],
    ["/send it to Ann", "/send it to Ann"],
    ["/model", chat("model", "")],
    ["/models a/b", chat("model", "a/b", changes)],
    ["/Think HIGH", chat("think", "HIGH", changes)],
    ["/think about it", "/think about it"],
    ["/status", chat("status", "")],
    ["/status of the build?", "/status of the build?"],
    ["/approve kfmz always", chat("approve", "kfmz always")],
    ["/deny kfmz not now", chat("deny", "kfmz not now")],
    ["/stauts", chat("unknown", "/stauts")],
    ["/resets", chat("unknown", "/resets")],
    ["/etc/hosts is broken", "/etc/hosts is broken"],
    ["/tmp is full", "/tmp is full"],
    ["/home is where", "/home is where"],
    ["/ help", "/ help"],
    ["//status", "//status"],
    ["see /status", "see /status"],
  ])("submits %j as %j", async (text, expected) => {
    expect(await submitted(text)).toEqual(expected);
  });

  it.each(["hello", "/stop", "/new hi", "/compact", "/subagents", "/status", "/queue reset hello"])(
    "passes on where %j came from, whatever it is",
    async (text) => {
      const { text: _, ...origin } = { ...incoming(text), senderName: "Ann" };
      const heard: object[] = [];
      const host = {
        accept: async (given: object) => heard.push(given),
        command: async (given: object) => heard.push(given),
      } as unknown as ConnectorHost;
      await submitText(host, { ...origin, text });
      expect(heard).toMatchObject([origin]);
      expect("text" in (heard[0] as object)).toBe(text === "hello");
    },
  );

  it("keeps the queue settings of the connector, unless the text has its own", async () => {
    const heard: unknown[] = [];
    const host = { accept: async ({ queue }: IncomingMessage) => heard.push(queue) } as unknown as ConnectorHost;
    const queue = { mode: "steer" } as const;
    await submitText(host, { ...incoming("hello"), queue });
    await submitText(host, { ...incoming("do it /queue interrupt"), queue });
    expect(heard).toEqual([queue, { mode: "interrupt" }]);
  });

  it("begins a new session only for the configured words", async () => {
    const host = { resetTriggers: ["/afresh"] };
    expect(await submitted("/afresh please", host)).toEqual({ name: "reset", text: "please" });
    expect(await submitted("/reset", host)).toBe("/reset");
    expect(await submitted("/new", host)).toBe("/new");
    for (const [on, off] of [
      ["/new", "/reset"],
      ["/reset", "/new"],
    ] as const) {
      const one = { resetTriggers: [on.toUpperCase()] };
      expect(await submitted(on, one)).toEqual({ name: "reset" });
      expect(await submitted(off, one)).toBe(off);
      expect(await submitted(`${off}s`, one)).toBe(`${off}s`);
    }
  });

  it("skips the agent's name in front of a command and joined to it, and no other name", async () => {
    const names = ["@rook"];
    expect(await submitted("@rook /reset", {}, names)).toEqual({ name: "reset" });
    expect(await submitted("/new@rook hi", {}, names)).toEqual({ name: "reset", text: "hi" });
    expect(await submitted("/status@Rook", {}, names)).toEqual(chat("status", ""));
    expect(await submitted("/status@bird", {}, ["@rook", " @Bird "])).toEqual(chat("status", ""));
    expect(await submitted("@other /reset", {}, names)).toBe("@other /reset");
    expect(await submitted("/status@other", {}, names)).toBe("/status@other");
    expect(await submitted("/new@rookery")).toEqual({ name: "reset" });
  });

  it("reads no command where they are off", async () => {
    const texts = ["stop", "/new", "/etc/hosts is broken", ...chatCommands.map(({ name }) => `/${name}`)];
    for (const text of texts) expect(await submitted(text, { commands: false })).toBe(text);
  });
});

test("every command of the table is read by its name and its aliases, and names are not used twice", () => {
  const names = chatCommands.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, aliases = [] } of chatCommands) {
    for (const alias of [name, ...aliases]) {
      const read = readChatCommand(`/${alias}`);
      expect(read).toMatchObject({ kind: "command", name: name === "new" ? "reset" : name });
    }
  }
});

test("no text is lost: what is not a command is the message, whole", () => {
  const word = fc.constantFrom("/queue", "/model", "x", "hello", "/stat", "steer", "cap:5", "cap:x", ":", "@rook");
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), (words) => {
      const text = words.join(" ");
      const read = readUserInput(text, { names: ["@rook"] });
      const said = (one: string): number => one.split(" ").filter((part) => part === "hello").length;
      const kept = read.kind === "message" ? read.text : `${read.text} ${read.message ?? ""}`;
      if (read.kind === "message" || read.name === "queue") expect(said(kept)).toBe(said(text));
    }),
  );
});
