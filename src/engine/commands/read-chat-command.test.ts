import fc from "fast-check";
import { describe, expect, expectTypeOf, it, test } from "vitest";
import { type PromptText, type SubmittedText, type TypedText, typedText } from "../../core/message/incoming-message.ts";
import type { MessageBody } from "../../core/message/message.ts";
import { chatCommands } from "./chat-commands.ts";
import { type ReadOptions, readChatCommand, readTyped } from "./read-chat-command.ts";

/** The message as its text, or with its queue settings; the command as its body, and the message after it. */
function read(text: string, options?: ReadOptions): unknown {
  const { command, message } = readTyped(typedText(text), options);
  const said = message?.queue ? [message.text, message.queue] : message?.text;
  return command && said !== undefined ? [command, said] : (command ?? said);
}

const chat = (name: string, text: string, more: object = {}) => ({ kind: "command", name, text, ...more });
const changes = { inTurn: true };
const stop: MessageBody = { kind: "stop" };
const reset: MessageBody = { kind: "reset", by: "person" };

describe("readTyped", () => {
  it.each<[string, unknown]>([
    ["hello", "hello"],
    // A word of two letters is not a typo of a one-letter name.
    ["/tx hello", "/tx hello"],
    ["/vv", "/vv"],
    ["/stop", stop],
    ["Wait", stop],
    ["/reset", reset],
    ["/NEW Good Morning", [reset, "Good Morning"]],
    ["/compact", { kind: "compact" }],
    ["/Compact  keep the Names", { kind: "compact", instructions: "keep the Names" }],
    ["/compact: the plan", { kind: "compact", instructions: "the plan" }],
    ["/subagents", { kind: "subagents", command: "" }],
    ["/SUBAGENTS send 1  two  words", { kind: "subagents", command: "send 1  two  words" }],
    ["/queue", chat("queue", "")],
    ["/queue steer", chat("queue", "steer", changes)],
    ["/queue reset", chat("queue", "reset", changes)],
    ["/queue reset hello", [chat("queue", "reset", changes), "hello"]],
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
  ])("reads %j as %j", (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it.each<[string, unknown]>([
    // The word describes the file; it is not alone.
    ["stop", "stop"],
    ["/stop", [stop, ""]],
    ["/new look at this", [reset, "look at this"]],
    ["/status", [chat("status", ""), ""]],
    ["look at this", "look at this"],
    ["do it /queue interrupt", ["do it", { mode: "interrupt" }]],
  ])("reads %j above a file as %j", (text, expected) => {
    expect(read(text, { hasFiles: true })).toEqual(expected);
  });

  it("begins a new session only for the configured words", () => {
    const options = { resetTriggers: ["/afresh"] };
    expect(read("/afresh please", options)).toEqual([reset, "please"]);
    expect(read("/reset", options)).toBe("/reset");
    expect(read("/new", options)).toBe("/new");
    for (const [on, off] of [
      ["/new", "/reset"],
      ["/reset", "/new"],
    ] as const) {
      const one = { resetTriggers: [on.toUpperCase()] };
      expect(read(on, one)).toEqual(reset);
      expect(read(off, one)).toBe(off);
      expect(read(`${off}s`, one)).toBe(`${off}s`);
    }
  });

  it("skips the agent's name in front of a command and joined to it, and no other name", () => {
    const names = ["@rook"];
    expect(read("@rook /reset", { names })).toEqual(reset);
    expect(read("@Rook stop", { names })).toEqual(stop);
    expect(read("@other stop", { names })).toBe("@other stop");
    expect(read("/new@rook hi", { names })).toEqual([reset, "hi"]);
    expect(read("/status@Rook", { names })).toEqual(chat("status", ""));
    expect(read("/status@bird", { names: ["@rook", " @Bird "] })).toEqual(chat("status", ""));
    expect(read("@other /reset", { names })).toBe("@other /reset");
    expect(read("/status@other", { names })).toBe("/status@other");
    expect(read("/new@rookery")).toEqual(reset);
  });

  it("reads no command where they are off", () => {
    const texts = ["stop", "/new", "/etc/hosts is broken", ...chatCommands.map(({ name }) => `/${name}`)];
    for (const text of texts) expect(read(text, { on: false })).toBe(text);
  });
});

test("keeps what was typed and what the model reads apart", () => {
  expectTypeOf<string>().not.toExtend<TypedText>();
  expectTypeOf<string>().toExtend<SubmittedText>();
  expectTypeOf<TypedText>().toExtend<SubmittedText>();
  expectTypeOf<PromptText>().not.toExtend<SubmittedText>();
  expectTypeOf<PromptText>().not.toExtend<TypedText>();
  expectTypeOf<TypedText>().not.toExtend<PromptText>();
});

test("every command of the table is read by its name and its aliases, and names are not used twice", () => {
  const names = chatCommands.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, aliases = [] } of chatCommands) {
    for (const alias of [name, ...aliases]) {
      expect(readChatCommand(typedText(`/${alias}`))).toMatchObject({
        kind: "command",
        name: name === "new" ? "reset" : name,
      });
    }
  }
});

test("no text is lost: what is not a command is the message, whole", () => {
  const word = fc.constantFrom("/queue", "/model", "x", "hello", "/stat", "steer", "cap:5", "cap:x", ":", "@rook");
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), (words) => {
      const text = words.join(" ");
      const input = readChatCommand(typedText(text), { names: ["@rook"] }) ?? { kind: "message", text };
      const said = (one: string): number => one.split(" ").filter((part) => part === "hello").length;
      const kept = input.kind === "message" ? input.text : `${input.text} ${input.message ?? ""}`;
      if (input.kind === "message" || input.name === "queue") expect(said(kept)).toBe(said(text));
    }),
  );
});
