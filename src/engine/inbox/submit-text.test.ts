import { describe, expect, it } from "vitest";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { ConnectorHost, IncomingCommand } from "../../core/ports/connector.ts";
import { parseSendDirective } from "./send-directive.ts";
import { submitText } from "./submit-text.ts";

const incoming = (text: string): IncomingMessage => ({
  ...{ connector: "c", userId: "u", channelId: "u", messageId: "1", text },
  delivery: { channel: "c", to: "u" },
});

async function handed(text: string, host: Partial<ConnectorHost> = {}, mentions?: readonly string[]): Promise<unknown> {
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
    mentions,
  );
  return said;
}

describe("what a person typed", () => {
  it.each<[string, unknown]>([
    ["hello", "hello"],
    ["/stop", { name: "stop" }],
    ["/reset", { name: "reset", text: undefined }],
    ["/NEW Good Morning", { name: "reset", text: "Good Morning" }],
    ["/queue steer", { name: "queue", settings: { mode: "steer" } }],
    ["/queue reset", { name: "queue", settings: null }],
    ["do it /queue interrupt", ["do it", { mode: "interrupt" }]],
    ["/send off", { name: "send", policy: "deny" }],
    ["/send inherit", { name: "send", policy: null }],
    ["/send it to Ann", "/send it to Ann"],
  ])("%j is handed in as %j", async (text, expected) => {
    expect(await handed(text)).toEqual(expected);
  });

  it("begins a new session by the words that are configured, and by no others", async () => {
    const host = { resetTriggers: ["/afresh"] };
    expect(await handed("/afresh please", host)).toEqual({ name: "reset", text: "please" });
    expect(await handed("/reset", host)).toBe("/reset");
  });

  it("may name the agent in front of a command", async () => {
    expect(await handed("@rook /reset", {}, ["@rook"])).toEqual({ name: "reset", text: undefined });
    expect(await handed("@somebody /reset", {}, ["@rook"])).toBe("@somebody /reset");
  });
});

describe("/send", () => {
  it.each<[string, ReturnType<typeof parseSendDirective>]>([
    ["/send on", "allow"],
    ["/SEND Allow", "allow"],
    ["/send: off", "deny"],
    [" /send deny ", "deny"],
    ["/send default", null],
    ["/send reset", null],
    ["/send", undefined],
    ["/send toString", undefined],
    ["/sendoff", undefined],
    ["please /send off", undefined],
  ])("%j means %j", (text, expected) => expect(parseSendDirective(text)).toBe(expected));
});
