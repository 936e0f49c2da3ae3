import { expect, test } from "vitest";
import { parseUserInput } from "./parse-user-input.ts";

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
])("%j is read as %j", (text, typed) => {
  expect(parseUserInput(text)).toEqual(typed);
});
