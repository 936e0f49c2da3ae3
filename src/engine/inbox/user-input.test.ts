import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { ConnectorHost, IncomingCommand } from "../../core/ports/connector.ts";
import {
  isAbortText,
  parseDuration,
  parseQueueDirective,
  parseSendDirective,
  parseUserInput,
  submitText,
} from "./user-input.ts";

const incoming = (text: string): IncomingMessage => ({
  ...{ connector: "c", userId: "u", channelId: "u", messageId: "1", text },
  delivery: { channel: "c", to: "u" },
});

async function submitted(
  text: string,
  host: Partial<ConnectorHost> = {},
  mentions?: readonly string[],
): Promise<unknown> {
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

describe("submitText", () => {
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
  ])("submits %j as %j", async (text, expected) => {
    expect(await submitted(text)).toEqual(expected);
  });

  it("begins a new session only for the configured words", async () => {
    const host = { resetTriggers: ["/afresh"] };
    expect(await submitted("/afresh please", host)).toEqual({ name: "reset", text: "please" });
    expect(await submitted("/reset", host)).toBe("/reset");
  });

  it("skips the agent's name in front of a command", async () => {
    expect(await submitted("@rook /reset", {}, ["@rook"])).toEqual({ name: "reset", text: undefined });
    expect(await submitted("@other /reset", {}, ["@rook"])).toBe("@other /reset");
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

test.each([
  ["hello", { kind: "message", text: "hello" }],
  ["STOP", { kind: "stop" }],
  ["/reset", { kind: "reset" }],
  ["/New", { kind: "reset" }],
  ["/reset Begin With This", { kind: "reset", text: "Begin With This" }],
  ["/resets", { kind: "message", text: "/resets" }],
  ["/compact", { kind: "compact" }],
  ["/Compact  keep the Names", { kind: "compact", instructions: "keep the Names" }],
  ["/compact: the plan", { kind: "compact", instructions: "the plan" }],
  ["/subagents", { kind: "subagents", text: "" }],
  ["/SUBAGENTS send 1  two  words", { kind: "subagents", text: "send 1  two  words" }],
  ["/subagentsx", { kind: "message", text: "/subagentsx" }],
  ["/compactor", { kind: "message", text: "/compactor" }],
  ["/queue steer", { kind: "queue", settings: { mode: "steer" } }],
  ["/queue default", { kind: "queue", settings: null }],
  ["/queue interrupt leave that", { kind: "message", text: "leave that", queue: { mode: "interrupt" } }],
])("%j is read as %j", (text, input) => {
  expect(parseUserInput(text)).toEqual(input);
});

test.each([
  ["/queue", { rest: "", reset: false, settings: {}, invalid: [] }],
  ["/queue collect", { settings: { mode: "collect" }, rest: "" }],
  [
    "/queue: steer+backlog debounce:2s cap:5 drop:old",
    { settings: { mode: "steer-backlog", debounceMs: 2000, cap: 5, dropPolicy: "old" } },
  ],
  ["/queue debounce=250 cap=3 drop=summary", { settings: { debounceMs: 250, cap: 3, dropPolicy: "summarize" } }],
  ["/QUEUE Interrupt", { settings: { mode: "interrupt" } }],
  ["/queue default", { reset: true, settings: {} }],
  ["/queue clear", { reset: true }],
  ["/queue steer do this now", { settings: { mode: "steer" }, rest: "do this now" }],
  ["please /queue queue hurry", { settings: { mode: "queue" }, rest: "please hurry" }],
  ["/queue cap:0", { settings: {}, invalid: ["cap:0"] }],
  ["/queue debounce:soon", { settings: {}, invalid: ["debounce:soon"] }],
  ["/queue drop:all steer", { settings: { mode: "steer" }, invalid: ["drop:all"] }],
])("%j is a queue directive", (text, expected) => {
  expect(parseQueueDirective(text)).toMatchObject(expected);
});

test.each(["hello", "/queues collect", "a/queue steer", "queue collect"])("%j contains no directive", (text) => {
  expect(parseQueueDirective(text)).toBeUndefined();
});

test.each([
  ["250", 250],
  ["2s", 2_000],
  ["1.5m", 90_000],
  ["1h", 3_600_000],
  ["soon", undefined],
  ["-1s", undefined],
])("the duration %j is %j milliseconds", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test("parseQueueDirective never throws and keeps every word that is not part of the directive", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("/queue", "collect", "cap:5", "cap:x", "hello", ":", "drop:old"), { maxLength: 6 }),
      (words) => {
        const read = parseQueueDirective(words.join(" "));
        const said = words.filter((word) => word === "hello").length;
        expect((read?.rest ?? words.join(" ")).split(" ").filter((word) => word === "hello")).toHaveLength(said);
      },
    ),
  );
});

test.each(["stop", " Stop ", "ESC", "abort", "wait", "exit", "interrupt", "/stop"])("%j stops a run", (text) => {
  expect(isAbortText(text)).toBe(true);
});

test.each(["stop it", "please stop", "/stopp", "", "waiting"])("%j is a message like any other", (text) => {
  expect(isAbortText(text)).toBe(false);
});
